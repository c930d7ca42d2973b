// Tests whole submissions: flags of the checks, factors, merges and previews. If an oracle is set,
// compares with the official tools.
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "base/files/files.h"
#include "tests/cli/tools.h"
#include "tests/compliance/submission.h"
#include "tests/support/built_files.h"
#include "tests/support/matchers.h"
#include "tests/support/oracle.h"

namespace strata::cli {
namespace {

namespace fs = std::filesystem;
using ::strata::testing::whole_description;
using ::strata::testing::write_submission;
using ::strata::testing::write_text;

class Submissions : public Tools {
 protected:
  fs::path round() const { return folder_.path() / "round"; }
  std::string acme() const { return (round() / "Acme").string(); }
  fs::path runs() const { return round() / "Acme/results/box/bert"; }

  // Writes BERT runs at a batch size with a built-in point, with this many samples to converge.
  void write_acme(const std::string& samples, const std::string& seed = "") {
    write_submission(round(), "Acme", "box", 10, [&](BertLog& log, int) {
      log.at("eval_accuracy").metadata = "\"epoch_num\": " + samples;
      if (!seed.empty()) log.set("seed", seed);
    });
  }
  size_t count() const {
    return static_cast<size_t>(std::distance(fs::recursive_directory_iterator(folder_.path()),
                                             fs::recursive_directory_iterator()));
  }
  static ProcessResult check(std::vector<std::string> words) {
    const std::string part = words.front();
    words.insert(words.begin(), "check");
    words.insert(words.end(), {"--ruleset", "5.0.0"});
    if (part != "log") words.insert(words.end(), {"--rcp", "built-in"});
    if (part != "rcp") words.insert(words.end(), {"--rules", "built-in"});
    return strata(words);
  }
};

// A little faster than the reference's mean, within its spread.
constexpr char kFaster[] = "2400000";

TEST_F(Submissions, TheCommandLineTakesTheFlagsOfThePackageCheck) {
  write_acme("640", "7");
  EXPECT_EQ(check({"package", acme()}).exit_code, 1);
  EXPECT_EQ(check({"package", acme(), "--rcp-bypass"}).exit_code, 1);
  const auto passed = check({"package", acme(), "--rcp-bypass", "--seed-checker-bypass"});
  EXPECT_EQ(passed.exit_code, 0) << passed.out << passed.err;
  EXPECT_THAT(passed.out, HasSubstr("accepted because of rcp-bypass"));
  const auto round_passed =
      check({"round", round().string(), "--rcp-bypass", "--seed-checker-bypass", "--quiet"});
  EXPECT_EQ(round_passed.exit_code, 0) << round_passed.out;
  EXPECT_EQ(check({"rcp", acme()}).exit_code, 1);
  EXPECT_EQ(check({"rcp", acme(), "--rcp-bypass"}).exit_code, 0);
}

TEST_F(Submissions, TheLogOutputIsWhatIsPrinted) {
  write_acme("99000000");
  const std::string file = path("check.log");
  for (const char* name : {"--log-output", "--log_output"}) {
    fs::remove(file);
    const auto printed = check({"package", acme(), name, file});
    EXPECT_EQ(printed.exit_code, 0);
    EXPECT_EQ(read_file(file), printed.out);
  }
  const auto inferred =
      strata({"check", "package", acme(), "--log-output", file, "--rules", "built-in"});
  EXPECT_EQ(inferred.out.find("ruleset: "), 0u);
  EXPECT_EQ(read_file(file), inferred.out);
  const auto json = check({"log", acme(), "--json", "--log-output", file});
  EXPECT_EQ(read_file(file), json.out);
  EXPECT_EQ(check({"log", acme(), "--log-output", path("round")}).exit_code, 2);
}

TEST_F(Submissions, AFactorIsWrittenOnceAndNeverReplaced) {
  write_acme(kFaster);
  ASSERT_EQ(check({"package", acme()}).exit_code, 0);
  EXPECT_FALSE(fs::exists(runs() / "scaling.json"));
  const auto written = check({"package", acme(), "--write-scaling"});
  EXPECT_EQ(written.exit_code, 0) << written.err;
  EXPECT_THAT(written.out, HasSubstr("; the check asks for a factor of 1."));
  EXPECT_THAT(written.out, HasSubstr("scaling.json written: 1."));
  const std::string text = read_file(runs() / "scaling.json");
  const auto again = check({"rcp", acme(), "--write-scaling"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("already"));
  write_text(runs() / "scaling.json", "{\"scaling_factor\": 3}");
  const auto refused = check({"rcp", acme(), "--write-scaling"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("the file was not changed"));
  EXPECT_EQ(read_file(runs() / "scaling.json"), "{\"scaling_factor\": 3}");
  EXPECT_NE(text, "{\"scaling_factor\": 3}");
}

TEST_F(Submissions, AScoreMayBeScaledWithoutAFile) {
  write_acme(kFaster);
  const auto score = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"score",   runs().string(), "--ruleset", "5.0.0",
                                      "--rules", "built-in",      "--rcp",     "built-in",
                                      "--csv",   "/dev/stdout"};
    words.insert(words.end(), more.begin(), more.end());
    return strata(words).out;
  };
  const std::string plain = score({}), scaled = score({"--scale"});
  EXPECT_NE(plain, scaled);
  EXPECT_THAT(scaled, HasSubstr(" 1.0"));
  EXPECT_FALSE(fs::exists(runs() / "scaling.json"));
}

TEST_F(Submissions, CustomReferencePointsAreUsed) {
  write_acme("100");
  const std::string points =
      folder_
          .write(
              "points.json",
              R"({"one": {"Benchmark": "bert", "BS": 448, "Epochs to converge": [90, 95, 100, 105, 110]}})")
          .string();
  const auto judged = strata({"check", "rcp", acme(), "--ruleset", "5.0", "--custom_rcps", points});
  EXPECT_EQ(judged.exit_code, 0) << judged.out;
  EXPECT_THAT(judged.out, HasSubstr("points.json"));
  const auto plotted = strata({"plot", "rcp", "--custom-rcps", points});
  EXPECT_EQ(plotted.out.find("BS,Mean,Min\n448,100.0,"), 0u) << plotted.out << plotted.err;
}

TEST_F(Submissions, BracesSelectSubmitters) {
  write_acme("99000000");
  write_submission(round(), "Bolt", "rack", 10);
  write_submission(round(), "Cog", "wheel", 10);
  const auto score = [&](const std::string& names) {
    return strata({"score", round().string() + "/" + names, "--ruleset", "5.0.0"});
  };
  EXPECT_THAT(score("{Acme,Cog}").out, Not(HasSubstr("rack")));
  EXPECT_THAT(score("{Acme,Cog}").out, HasSubstr("wheel"));
  EXPECT_THAT(score("{*}").out, HasSubstr("rack"));
  EXPECT_EQ(score("{None}").exit_code, 2);
  fs::rename(round() / "Bolt", round() / "{Bolt}");
  EXPECT_THAT(score("{Bolt}").out, HasSubstr("rack"));
}

TEST_F(Submissions, ASubmissionCanBeMergedPreviewedAndCompared) {
  write_acme("99000000");
  write_submission(folder_.path() / "other", "Bolt", "rack", 10);
  const auto merged =
      strata({"package", "merge", acme(), path("other"), "--output", path("whole")});
  EXPECT_EQ(merged.exit_code, 0) << merged.err;
  EXPECT_THAT(merged.out, HasSubstr("2 submitters, 22 files"));
  EXPECT_EQ(strata({"package", "merge", acme(), "--output", path("whole")}).exit_code, 2);
  const auto rows = strata({"package", "preview", path("whole"), "--ruleset", "5.0.0"});
  EXPECT_EQ(rows.exit_code, 0) << rows.err;
  EXPECT_THAT(rows.out, HasSubstr("bert                       1.075\n"));
  const auto csv = strata({"package", "preview", path("whole"), "--ruleset", "5.0.0", "--csv"});
  EXPECT_EQ(csv.out.find("division,availability,submitter,system,"), 0u);
  EXPECT_EQ(strata({"package", "resubmit-check", path("whole"), round().string()}).exit_code, 0);
  write_text(round() / "Acme/systems/box.json", whole_description("Acme", "box", "open"));
  const auto differs = strata({"package", "resubmit-check", path("whole"), round().string()});
  EXPECT_EQ(differs.exit_code, 1);
  EXPECT_THAT(differs.out, HasSubstr("division: \"open\" -> \"closed\""));
}

TEST_F(Submissions, PrivateIdsAndSummariesAreWritten) {
  write_acme("99000000");
  const auto written =
      strata({"score", acme(), "--ruleset", "5.0.0", "--summary", path("s.csv"), "--private-ids"});
  EXPECT_EQ(written.exit_code, 0) << written.err;
  EXPECT_TRUE(fs::exists(round() / "Acme/results/box/privateid.json"));
  EXPECT_EQ(strata({"score", acme(), "--summary", path("s.ods")}).exit_code, 2);
  EXPECT_EQ(strata({"score", acme(), "--private-ids"}).exit_code, 2);
}

class Workbooks : public Submissions {
 protected:
  Workbooks() {
    write_acme("99000000");
    with_library_ = strata({"--version"}).out.find("libxlsxwriter") != std::string::npos;
  }
  ProcessResult write(const std::string& file, std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {"score", acme(), "--ruleset", "5.0.0", "--summary", file};
    words.insert(words.end(), more.begin(), more.end());
    return strata(words);
  }

  bool with_library_ = false;
};

#define STRATA_NEEDS_WORKBOOKS() \
  if (!with_library_) GTEST_SKIP() << "built without libxlsxwriter"

TEST_F(Workbooks, HoldTheCellsOfTheCsv) {
  STRATA_NEEDS_WORKBOOKS();
  write_text(round() / "Acme/systems/box.json",
             whole_description("Acme", "=box", "closed",
                               R"("hw_notes": "=1+1\n\u001b[31m<&>", "sw_notes": "_x0041_",
                                  "framework": "@A1", "host_processor_model_name": "+1")"));
  write_submission(round(), "Acme", "rack", 3);
  write_text(round() / "Acme/systems/rack.json", whole_description("Acme", "-rack", "open"));
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--detailed"}}) {
    const auto written = write(path("s.xlsx"), more);
    ASSERT_EQ(written.exit_code, 0) << written.err;
    EXPECT_EQ(written.err, "");
    ASSERT_EQ(write(path("s.csv"), more).exit_code, 0);
    const auto result = testing_support::run_command("/usr/bin/python3 " STRATA_SOURCE_DIR
                                                     "/tests/support/workbook_against_csv.py " +
                                                     path("s.xlsx") + " " + path("s.csv"));
    EXPECT_EQ(result.status, 0) << result.output;
    const std::string bytes = read_file(path("s.xlsx"));
    write(path("again.xlsx"), more);
    EXPECT_EQ(read_file(path("again.xlsx")), bytes);
  }
}

TEST_F(Workbooks, AreRefusedWithoutTheLibrary) {
  if (with_library_) GTEST_SKIP() << "built with libxlsxwriter";
  const auto refused = write(path("s.xlsx"));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("install libxlsxwriter-dev"));
  EXPECT_THAT(refused.err, HasSubstr(".csv"));
  EXPECT_FALSE(fs::exists(path("s.xlsx")));
}

TEST_F(Workbooks, AreWholeOrAbsent) {
  STRATA_NEEDS_WORKBOOKS();
  const size_t before = count();
  write_text(path("file"), "");
  for (const char* nowhere : {"file/s.xlsx", "full.xlsx", "folder.xlsx"}) {
    fs::remove(path("full.xlsx"));
    fs::create_symlink("/dev/full", path("full.xlsx"));
    fs::create_directories(path("folder.xlsx"));
    const auto refused = write(path(nowhere));
    EXPECT_EQ(refused.exit_code, 2) << nowhere;
    EXPECT_THAT(refused.err, HasSubstr(path(std::string(nowhere).substr(0, 4))));
  }
  EXPECT_EQ(count(), before + 3);
  // The workbook fits into files of this size, but its packed text does not.
  write_text(round() / "Acme/systems/box.json",
             whole_description("Acme", "box", "closed",
                               R"("hw_notes": ")" + std::string(30000, 'x') + '"'));
  const auto limited =
      run({"sh", "-c",
           "trap '' XFSZ; ulimit -f 32; exec " + testing_support::strata_program() + " score " +
               acme() + " --ruleset 5.0.0 --summary " + path("s.xlsx")},
          {}, std::chrono::seconds(60));
  EXPECT_EQ(limited.exit_code, 2);
  EXPECT_THAT(limited.err, HasSubstr("temporary files"));
  EXPECT_EQ(count(), before + 3);
  // Existing files stay or are replaced as a whole, even at the end of links.
  write_text(path("old.xlsx"), "old");
  fs::create_symlink("old.xlsx", path("link.xlsx"));
  EXPECT_EQ(write(path("link.xlsx")).exit_code, 0);
  EXPECT_TRUE(fs::is_symlink(path("link.xlsx")));
  EXPECT_EQ(read_file(path("old.xlsx")).substr(0, 2), "PK");
}

// ---- Comparison with the official tools

class OfficialPackageCheck : public Submissions {
 protected:
  void SetUp() override {
    if (testing_support::oracle_python() == nullptr) GTEST_SKIP() << testing_support::kNoOracle;
  }
  // Returns whether it finds no errors. It gets a copy, because it writes scaling.json.
  bool official(const std::string& flags, const std::string& module = "package_checker") {
    const fs::path copy = folder_.path() / "copy";
    fs::remove_all(copy);
    fs::copy(round() / "Acme", copy, fs::copy_options::recursive);
    last_ = testing_support::run_command(
        "cd " + folder_.path().string() + " && " + testing_support::oracle_python() +
        " -m mlperf_logging." + module + " " +
        (module == "rcp_checker" ? (copy / "results/box/bert").string() + " --rcp_version 5.0.0 "
                                 : copy.string() + " training 5.0.0 ") +
        flags);
    return module == "rcp_checker"
               ? last_.output.find("RCP test PASSED") != std::string::npos
               : last_.output.find("PACKAGE CHECKER FOUND NO ERRORS") != std::string::npos;
  }
  bool ours(const std::vector<std::string>& flags) {
    std::vector<std::string> words = {"package", acme()};
    words.insert(words.end(), flags.begin(), flags.end());
    return check(words).exit_code == 0;
  }

  testing_support::CommandResult last_;
};

TEST_F(OfficialPackageCheck, FlagsHaveTheSameEffectOnVerdicts) {
  write_submission(round(), "Acme", "box", 10, [](BertLog& log, int) {
    log.at("eval_accuracy").metadata = "\"epoch_num\": 640";
    log.set("seed", "7").set("train_samples", "99000000");
  });
  const std::vector<std::vector<std::string>> all = {
      {},
      {"--rcp-bypass"},
      {"--seed-checker-bypass"},
      {"--rcp-bypass", "--seed-checker-bypass"},
      {"--rcp-bert-train-samples", "--seed-checker-bypass"},
      {"--rcp-bypass", "--seed-checker-bypass", "--quiet"},
      {"--rcp-bypass", "--seed-checker-bypass", "--werror"},
      {"--rcp-bypass", "--seed-checker-bypass", "--werror", "--quiet"}};
  for (const auto& flags : all) {
    std::string words;
    for (const std::string& flag : flags) words += flag + ' ';
    EXPECT_EQ(ours(flags), official(words)) << words << last_.output;
  }
  EXPECT_FALSE(ours({}));
  EXPECT_TRUE(ours(all[4]));
  // The official script turns the root's lines into flags.
  for (const auto& flags : all) {
    std::string lines;
    for (const std::string& flag : flags) lines += flag.substr(2) + '\n';
    write_text(round() / "Acme/package_checker_params", lines);
    const bool with_file = ours({});
    fs::remove(round() / "Acme/package_checker_params");
    EXPECT_EQ(with_file, ours(flags)) << lines;
  }
}

TEST_F(OfficialPackageCheck, TrainSamplesGiveTheSameVerdicts) {
  for (const char* samples : {"1", "2400000", "2400000.5", "99000000"}) {
    write_submission(round(), "Acme", "box", 10, [&](BertLog& log, int) {
      log.at("eval_accuracy").metadata = "\"epoch_num\": 640";
      log.set("train_samples", samples);
    });
    EXPECT_EQ(check({"rcp", acme(), "--bert_train_samples"}).exit_code == 0,
              official("--bert_train_samples", "rcp_checker"))
        << samples << last_.output;
  }
}

TEST_F(OfficialPackageCheck, FactorsAreTheSameToTheLastDigit) {
  for (const char* samples : {kFaster, "2350000.123", "2444444"}) {
    write_acme(samples);
    fs::remove(runs() / "scaling.json");
    ASSERT_TRUE(official(""));
    ASSERT_TRUE(ours({"--write-scaling"})) << samples;
    const fs::path theirs = folder_.path() / "copy/results/box/bert/scaling.json";
    ASSERT_EQ(fs::exists(theirs), fs::exists(runs() / "scaling.json")) << last_.output;
    if (fs::exists(theirs)) {
      EXPECT_EQ(read_file(theirs), read_file(runs() / "scaling.json"));
    }
  }
}

}  // namespace
}  // namespace strata::cli
