// Tests which rules are used, and the commands `strata rules` and `strata rcp`.
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/files/files.h"
#include "tests/cli/tools.h"
#include "tests/support/json_schema.h"
#include "tests/support/matchers.h"
#include "tests/support/oracle.h"

namespace strata::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing_support::run_command;

// A user whose home and Python only have rules that the test installs.
class Rules : public Tools {
 protected:
  Rules() {
    fs::create_directories(path("home"));
    write_package("home/.local/lib/python3.11/site-packages", "4.0.1");
  }

  // Installs like pip: rules of rounds 5.0.0 (BERT fails by them) and 5.1.0, and points of resnet.
  void write_package(const std::string& site, const std::string& version) {
    const std::string rules = site + "/mlperf_logging/compliance_checker/";
    folder_.write(rules + "training_5.0.0/common.yaml",
                  "- KEY:\n    NAME: run_stop\n    REQ: EXACTLY_ONE\n"
                  "- KEY:\n    NAME: never_logged\n    REQ: EXACTLY_ONE\n");
    folder_.write(rules + "training_5.1.0/common.yaml",
                  "- KEY:\n    NAME: run_stop\n    REQ: AT_LEAST_ONE\n"
                  "    CHECK: \" v['metadata']['status'] == 'success' \"\n"
                  "- KEY:\n    NAME: run_start\n    REQ: EXACTLY_ONE\n");
    folder_.write(rules + "training_5.1.0/closed_flux1.yaml",
                  "- KEY:\n    NAME: seed\n    REQ: EXACTLY_ONE\n");
    folder_.write(site + "/mlperf_logging-" + version + ".dist-info/METADATA", "");
  }
  json json_of(const std::vector<std::string>& words) {
    const ProcessResult printed = strata_at_home(words);
    EXPECT_LE(printed.exit_code, 1) << printed.err;
    return json::parse(printed.out);
  }
  std::string good() const { return path("Acme/results/good/bert/result_0.txt"); }
};

TEST_F(Rules, InstalledRulesAreUsedOnlyIfBuiltInOnesAreMissing) {
  // BERT's log would fail by the installed rules of 5.0.0, but they are not used.
  json verdict = json_of({"check", "log", good(), "--ruleset", "5.0", "--json"}).at("logs")[0];
  EXPECT_EQ(verdict.at("outcome"), "passed") << verdict;
  EXPECT_EQ(verdict.at("rules").at("source"), "built in");
  EXPECT_EQ(verdict.at("rules").at("path"), "");
  // This round is not built in.
  verdict = json_of({"check", "log", good(), "--ruleset", "5.1", "--json"}).at("logs")[0];
  EXPECT_EQ(verdict.at("outcome"), "passed") << verdict;
  EXPECT_EQ(verdict.at("rules").at("source"), "found");
  EXPECT_EQ(verdict.at("rules").at("version"), "4.0.1");
  // This benchmark is not built in.
  BertLog other = BertLog::passing();
  const std::string log = write_run("other", 0, other.set("submission_benchmark", "\"rgat\""));
  verdict = json_of({"check", "log", log, "--ruleset", "5.0", "--json"}).at("logs")[0];
  EXPECT_EQ(verdict.at("outcome"), "failed") << verdict;
  EXPECT_EQ(verdict.at("errors")[0].at("key"), "never_logged");
  // These options ask for built-in rules only.
  verdict = json_of({"check", "log", log, "--ruleset", "5.0", "--json", "--rules", "built-in"})
                .at("logs")[0];
  EXPECT_EQ(verdict.at("outcome"), "not judged") << verdict;
  const ProcessResult none =
      strata_at_home({"check", "log", good(), "--ruleset", "5.1", "--rules", "built-in"});
  EXPECT_EQ(none.exit_code, 0) << none.out;
  EXPECT_THAT(none.out, HasSubstr("not judged"));
}

TEST_F(Rules, TheTextNamesTheRulesThatWereUsed) {
  const auto text = [&](std::vector<std::string> words) { return strata_at_home(words).out; };
  EXPECT_THAT(text({"check", "log", good(), "--ruleset", "5.0"}),
              HasSubstr("rules: Strata's own 0."));
  const std::string found = text({"check", "log", good(), "--ruleset", "5.1"});
  EXPECT_THAT(found, HasSubstr("rules: mlperf_logging 4.0.1, found in " + path("home")));
  EXPECT_THAT(found, HasSubstr("(training 5.1.0, sha256 "));
  folder_.write("Acme/systems/good.json", R"({"division": "open"})");
  BertLog graph = BertLog::passing();
  folder_.write("Acme/results/good/rgat/result_0.txt",
                graph.set("submission_benchmark", "\"rgat\"").text());
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"check", "package", path("Acme"), "--ruleset", "5.0"},
                                             {"check", "round", path(), "--ruleset", "5.0"},
                                             {"score", path("Acme"), "--ruleset", "5.0"}}) {
    const std::string printed = text(words);
    EXPECT_THAT(printed, HasSubstr("rules: mlperf_logging 4.0.1, found in "));
    EXPECT_THAT(printed, HasSubstr("rules: Strata's own 0."));
  }
}

TEST_F(Rules, TheHashIsComputedFromTheFilesInOrder) {
  const std::string rules =
      path("home/.local/lib/python3.11/site-packages/mlperf_logging/compliance_checker");
  const auto hash_of = [&](const std::string& folder, const std::string& files) {
    const auto sum = run_command("cd '" + folder + "' && LC_ALL=C sha256sum " + files +
                                 " | sha256sum | cut -c1-64");
    EXPECT_EQ(sum.status, 0);
    return sum.output.substr(0, 64);
  };
  std::map<std::string, std::string> listed;
  const json list = json_of({"rules", "list", "--json"});
  for (const json& set : list.at("rule_sets")) {
    listed[set.at("source").get<std::string>() + " " + set.at("ruleset").get<std::string>()] =
        set.at("sha256");
  }
  EXPECT_EQ(listed.at("found 5.1.0"), hash_of(rules, "training_5.1.0/*.yaml"));
  EXPECT_EQ(listed.at("built in 5.0.0"),
            hash_of(STRATA_SOURCE_DIR "/compliance/rules", "shared/*.yaml training_5.0.0/*.yaml"));
  const auto verdict = json_of({"check", "log", good(), "--ruleset", "5.1", "--json"});
  EXPECT_EQ(verdict.at("logs")[0].at("rules").at("sha256"), listed.at("found 5.1.0"));
  folder_.write(
      "home/.local/lib/python3.11/site-packages/mlperf_logging/compliance_checker/"
      "training_5.1.0/common.yaml",
      "- KEY:\n    NAME: run_stop\n    REQ: AT_LEAST_ONE\n");
  const auto changed = json_of({"check", "log", good(), "--ruleset", "5.1", "--json"});
  EXPECT_NE(changed.at("logs")[0].at("rules").at("sha256"), listed.at("found 5.1.0"));
}

TEST_F(Rules, DifferencesAreListedByRule) {
  const ProcessResult same = strata_at_home({"rules", "diff", "5.0", "5.0"});
  EXPECT_THAT(same.out, HasSubstr("no rule differs"));
  const json diff = json_of({"rules", "diff", "5.0", "5.1", "--json"});
  EXPECT_EQ(diff.at("before").at("rules").at("source"), "found");
  EXPECT_EQ(diff.at("added_files"), json({"closed_flux1.yaml"}));
  std::map<std::string, json> changes;
  for (const json& change : diff.at("changes"))
    changes[change.at("file").get<std::string>() + " " + change.at("rule").get<std::string>()] =
        change;
  EXPECT_EQ(changes.size(), 4u) << diff;
  EXPECT_EQ(changes.at("closed_flux1.yaml KEY seed").at("change"), "added");
  EXPECT_EQ(changes.at("common.yaml KEY never_logged").at("change"), "removed");
  EXPECT_EQ(changes.at("common.yaml KEY run_start").at("change"), "added");
  const json& stop = changes.at("common.yaml KEY run_stop");
  EXPECT_EQ(stop.at("change"), "changed");
  EXPECT_EQ(stop.at("fields")[0],
            json({{"field", "REQ"}, {"before", "EXACTLY_ONE"}, {"after", "AT_LEAST_ONE"}}));
  EXPECT_EQ(stop.at("fields")[1].at("field"), "CHECK");
  EXPECT_EQ(stop.at("fields")[1].at("before"), "");
  testing_support::expect_schema("rules-diff", diff.dump());
  testing_support::expect_schema("rules-list", strata_at_home({"rules", "list", "--json"}).out);
  EXPECT_EQ(strata_at_home({"rules", "diff", "5.0", "9.9"}).exit_code, 2);
}

// ---- Reference points

class Points : public Rules {
 protected:
  Points() {
    folder_.write("Acme/systems/good.json", R"({"division": "closed"})");
    // BertLog's runs take as many samples as they log; the second round requires more.
    for (int i = 1; i < 10; ++i) write_run("good", i, BertLog::passing("closed"));
    write_run("good", 0, BertLog::passing("closed"));
    const json log_score = json::parse(strata({"score", path("Acme"), "--json"}).out);
    const json& score = log_score.at("scores")[0];
    batch_ = score.at("global_batch_size").get<double>();
    samples_ = score.at("samples_to_converge").get<double>();
    write_points("training_4.1.0", samples_ / 2);
    write_points("training_5.0.0", 10 * samples_);
  }
  void write_points(const std::string& round, double mean) {
    json epochs = json::array();
    for (int i = 0; i < 20; ++i) epochs.push_back(mean * (1 + 0.001 * i));
    folder_.write("points/" + round + "/rcps_bert.json",
                  json({{"bert_ref",
                         {{"Benchmark", "bert"}, {"BS", batch_}, {"Epochs to converge", epochs}}}})
                      .dump());
  }
  double batch_ = 0, samples_ = 0;
};

TEST_F(Points, ADifferenceNamesTheResultsWithAnotherVerdict) {
  const std::vector<std::string> words = {"rcp",   "diff",         "4.1",      "5.0",
                                          "--rcp", path("points"), "--scores", path("Acme")};
  const ProcessResult printed = strata_at_home(words);
  EXPECT_EQ(printed.exit_code, 0) << printed.err;
  EXPECT_THAT(printed.out, HasSubstr("1 of 1 result folder"));
  std::vector<std::string> as_json = words;
  as_json.push_back("--json");
  const json diff = json_of(as_json);
  testing_support::expect_schema("rcp-diff", diff.dump());
  ASSERT_EQ(diff.at("benchmarks").size(), 1u) << diff;
  const json& point = diff.at("benchmarks")[0].at("points")[0];
  EXPECT_NEAR(
      point.at("after").at("mean").get<double>() / point.at("before").at("mean").get<double>(), 20,
      1e-9);
  const json& folder = diff.at("folders")[0];
  EXPECT_EQ(folder.at("before").at("outcome"), "passed") << folder;
  EXPECT_EQ(folder.at("after").at("outcome"), "failed") << folder;
  // The open division is not judged.
  folder_.write("Acme/systems/good.json", R"({"division": "open"})");
  EXPECT_EQ(json_of(as_json).at("folders").size(), 0u);
}

TEST_F(Points, VerdictsNameTheirPoints) {
  const json package = json_of(
      {"check", "package", path("Acme"), "--ruleset", "4.1", "--rcp", path("points"), "--json"});
  const json& rcp = package.at("packages")[0].at("folders")[0].at("rcp");
  const std::string file = path("points/training_4.1.0/rcps_bert.json");
  EXPECT_EQ(rcp.at("points"), file);
  EXPECT_EQ(run_command("sha256sum '" + file + "'").output.substr(0, 64),
            rcp.at("points_sha256").get<std::string>());
}

TEST_F(Points, AreTakenFromThePackageOfTheGivenRules) {
  const std::string site = path("home/.local/lib/python3.11/site-packages");
  fs::create_directories(site + "/mlperf_logging/rcp_checker");
  fs::copy(path("points"), site + "/mlperf_logging/rcp_checker",
           fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  for (const char* rules : {"/mlperf_logging", "/mlperf_logging/compliance_checker"}) {
    const json checked = json_of(
        {"check", "rcp", path("Acme"), "--ruleset", "5.0", "--rules", site + rules, "--json"});
    const json& rcp = checked.at("sections")[0].at("rcp");
    EXPECT_EQ(rcp.at("points"), site + "/mlperf_logging/rcp_checker/training_5.0.0/rcps_bert.json");
    const json scored =
        json_of({"score", path("Acme"), "--ruleset", "5.0", "--rules", site + rules, "--json"});
    EXPECT_EQ(scored.at("scores")[0].at("rcp").at("points"), rcp.at("points"));
  }
  // --rcp comes first.
  const json built_in = json_of({"check", "rcp", path("Acme"), "--ruleset", "5.0", "--rules",
                                 site + "/mlperf_logging", "--rcp", "built-in", "--json"});
  EXPECT_EQ(built_in.at("sections")[0].at("rcp").at("points"), "rcp/training_2.1.0/rcps_bert.json");
  // Points that the package lacks are built in.
  fs::remove(site + "/mlperf_logging/rcp_checker/training_5.0.0/rcps_bert.json");
  const json fallen_back = json_of({"check", "rcp", path("Acme"), "--ruleset", "5.0", "--rules",
                                    site + "/mlperf_logging", "--json"});
  EXPECT_EQ(fallen_back.at("sections")[0].at("rcp").at("points"),
            "rcp/training_2.1.0/rcps_bert.json");
}

// ---- Install

class Install : public Rules {
 protected:
  // Returns a wheel like PyPI's, and its hash.
  std::pair<std::string, std::string> make_wheel(const std::string& version) {
    write_package("wheel", version);
    const std::string wheel = path("mlperf_logging-" + version + "-py3-none-any.whl");
    EXPECT_EQ(run_command("cd '" + path("wheel") + "' && /usr/bin/python3 -m zipfile -c '" + wheel +
                          "' mlperf_logging mlperf_logging-" + version + ".dist-info")
                  .status,
              0);
    return {wheel, run_command("sha256sum '" + wheel + "'").output.substr(0, 64)};
  }
  // Returns the files that `strata rules install` has left.
  std::vector<std::string> left() const {
    std::vector<std::string> names;
    std::error_code ignored;
    for (const fs::path& entry : list_directory(path("data/strata/rules"), ignored))
      names.push_back(entry.filename().string());
    return names;
  }
  // Returns a folder with programs of these names; each runs `script` in a shell.
  std::string programs(const std::vector<std::string>& names, const std::string& script) {
    for (const std::string& name : names) {
      const fs::path program = folder_.write("bin/" + name, "#!/bin/sh\n" + script);
      ::chmod(program.c_str(), 0755);
    }
    fs::create_directories(path("bin"));
    return path("bin");
  }
};

TEST_F(Install, AWheelWithTheRightHashIsInstalledAndUsed) {
  const auto [wheel, hash] = make_wheel("9.8.7");
  const std::vector<std::string> words = {"rules", "install",  "9.8.7", "--wheel",
                                          wheel,   "--sha256", hash};
  const ProcessResult installed = strata_at_home(words);
  EXPECT_EQ(installed.exit_code, 0) << installed.err;
  EXPECT_EQ(left(), std::vector<std::string>{"mlperf_logging-9.8.7"});
  const json verdict = json_of({"check", "log", good(), "--ruleset", "5.1", "--json"});
  EXPECT_EQ(verdict.at("logs")[0].at("rules").at("version"), "9.8.7");
  const ProcessResult again = strata_at_home(words);
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("already"));
}

TEST_F(Install, AWheelWithAnotherHashIsRefusedAndLeavesNoFiles) {
  const auto [wheel, hash] = make_wheel("4.1.68");
  const ProcessResult refused = strata_at_home({"rules", "install", "4.1.68", "--wheel", wheel});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("nothing was installed"));
  EXPECT_THAT(refused.err, HasSubstr(hash));
  EXPECT_EQ(left(), std::vector<std::string>{});
  // No option can replace a pinned version.
  EXPECT_EQ(
      strata_at_home({"rules", "install", "4.1.68", "--wheel", wheel, "--sha256", hash}).exit_code,
      2);
  EXPECT_EQ(left(), std::vector<std::string>{});
  // The same applies to a fetched wheel.
  const std::string bin = programs({"curl"},
                                   "while [ \"$1\" != --output ]; do shift; done\n"
                                   "exec /bin/cp '" +
                                       wheel + "' \"$2\"\n");
  const ProcessResult fetched = strata_at_home({"rules", "install"}, bin);
  EXPECT_EQ(fetched.exit_code, 2);
  EXPECT_THAT(fetched.err, HasSubstr("nothing was installed"));
  EXPECT_EQ(left(), std::vector<std::string>{});
}

TEST_F(Install, WithoutToolsItSaysWhichAreNeeded) {
  const ProcessResult nothing = strata_at_home({"rules", "install"}, programs({}, ""));
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.err, HasSubstr("curl is not installed, pip is not installed"));
  EXPECT_THAT(nothing.err, HasSubstr("Install curl or pip"));
  EXPECT_THAT(nothing.err, HasSubstr("strata rules install 4.1.68 --wheel FILE"));
  EXPECT_EQ(left(), std::vector<std::string>{});
  const auto [wheel, hash] = make_wheel("9.8.7");
  const ProcessResult unpinned =
      strata_at_home({"rules", "install", "9.8.7", "--sha256", hash}, programs({}, ""));
  EXPECT_EQ(unpinned.exit_code, 2);
  EXPECT_THAT(unpinned.err, HasSubstr("Install pip and"));
  EXPECT_THAT(unpinned.err, HasSubstr("install 9.8.7 --sha256 " + hash + " --wheel FILE"));
  const ProcessResult packed = strata_at_home(
      {"rules", "install", "9.8.7", "--wheel", wheel, "--sha256", hash}, programs({}, ""));
  EXPECT_EQ(packed.exit_code, 2);
  EXPECT_THAT(packed.err, HasSubstr("unzip is not installed, python3 is not installed"));
  EXPECT_EQ(left(), std::vector<std::string>{});
}

TEST_F(Install, UnknownVersionsAndBrokenWheelsAreRefused) {
  const ProcessResult unknown = strata_at_home({"rules", "install", "0.0.1"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("4.1.68"));
  EXPECT_EQ(strata_at_home({"rules", "install", "../x"}).exit_code, 2);
  const std::string wheel = folder_.write("none.whl", "no zip").string();
  const std::string hash = run_command("sha256sum '" + wheel + "'").output.substr(0, 64);
  EXPECT_EQ(
      strata_at_home({"rules", "install", "9.9", "--wheel", wheel, "--sha256", hash}).exit_code, 2);
  EXPECT_EQ(left(), std::vector<std::string>{});
}

}  // namespace
}  // namespace strata::cli
