#include "compliance/package/package.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "compliance/package/power.h"
#include "compliance/package/report.h"
#include "compliance/package/repository.h"
#include "compliance/package/seeds.h"
#include "compliance/package/system_description.h"
#include "tests/compliance/bert_log.h"
#include "tests/compliance/submission.h"
#include "tests/support/matchers.h"

namespace strata::compliance {
namespace {

namespace fs = std::filesystem;
using ::strata::testing::BertLog;
using ::strata::testing::TemporaryFolder;
using ::strata::testing::whole_description;

constexpr const char* kResults = "Strata/results/laptop/bert/";

std::string system_description(const std::string& division,
                               const std::string& status = "Available on-premise") {
  return whole_description("Strata", "laptop", division, R"("status": ")" + status + '"');
}

// A submission that passes: ten runs with seeds of their own, slower than any reference.
void write_package(const TemporaryFolder& folder, const std::string& division, int logs = 10) {
  for (int i = 0; i < logs; ++i) {
    BertLog log = BertLog::passing(division);
    log.set("seed", std::to_string(100 + i)).set("global_batch_size", "448");
    log.at("eval_accuracy").metadata = "\"epoch_num\": 99000000";
    folder.write(std::string(kResults) + "result_" + std::to_string(i) + ".txt", log.text());
  }
  folder.write("Strata/systems/laptop.json", system_description(division));
}

PackageVerdict check(const TemporaryFolder& folder, const std::string& ruleset = "5.0.0") {
  RuleStore rules;
  PackageOptions options;
  options.ruleset = ruleset;
  return check_package(folder.path() / "Strata", rules, options);
}

std::string text_of(const TemporaryFolder& folder) { return package_text(check(folder)); }

TEST(Package, CompleteSubmissionsPass) {
  for (const char* division : {"open", "closed"}) {
    const TemporaryFolder folder;
    write_package(folder, division);
    const PackageVerdict verdict = check(folder);
    EXPECT_TRUE(verdict.passed()) << package_text(verdict);
    ASSERT_EQ(verdict.folders.size(), 1u);
    EXPECT_EQ(verdict.folders[0].rcp.judged, std::string(division) == "closed");
    EXPECT_EQ(verdict.submitter, "Strata");
  }
}

TEST(Package, NumberOfResultFilesMustBeExact) {
  for (const int logs : {9, 11}) {
    const TemporaryFolder folder;
    write_package(folder, "open", logs);
    EXPECT_FALSE(check(folder).passed()) << logs;
    EXPECT_THAT(text_of(folder), HasSubstr("wanted 10"));
  }
}

TEST(Package, OneLogMayFailTwoMayNot) {
  const TemporaryFolder folder;
  write_package(folder, "open");
  folder.write(std::string(kResults) + "result_3.txt",
               BertLog::passing().without("run_stop").set("seed", "1000").text());
  EXPECT_TRUE(check(folder).passed()) << text_of(folder);
  EXPECT_THAT(text_of(folder), HasSubstr("accepted"));
  folder.write(std::string(kResults) + "result_4.txt",
               BertLog::passing().without("run_stop").set("seed", "1001").text());
  EXPECT_FALSE(check(folder).passed());
}

TEST(Package, ClosedSeedsMustDiffer) {
  const TemporaryFolder folder;
  write_package(folder, "closed");
  BertLog log = BertLog::passing("closed");
  log.set("seed", "100").set("global_batch_size", "448");
  log.at("eval_accuracy").metadata = "\"epoch_num\": 99000000";
  folder.write(std::string(kResults) + "result_7.txt", log.text());
  const PackageVerdict verdict = check(folder);
  EXPECT_FALSE(verdict.passed());
  EXPECT_FALSE(verdict.folders[0].seeds_passed);
  EXPECT_THAT(package_text(verdict), HasSubstr("seed 100"));
  folder.write(std::string(kResults) + "package_checker_params", "seed-checker-bypass\n");
  EXPECT_TRUE(check(folder).passed()) << text_of(folder);
}

TEST(Package, TooFastConvergenceFailsUnlessBypassed) {
  const TemporaryFolder folder;
  write_package(folder, "closed");
  for (int i = 0; i < 10; ++i) {
    BertLog log = BertLog::passing("closed");
    log.set("seed", std::to_string(i)).set("global_batch_size", "448");
    folder.write(std::string(kResults) + "result_" + std::to_string(i) + ".txt", log.text());
  }
  EXPECT_FALSE(check(folder).passed());
  EXPECT_THAT(text_of(folder), HasSubstr(": mean 640 to converge, reference "));
  folder.write("Strata/results/laptop/package_checker_params", "rcp-bypass");
  EXPECT_TRUE(check(folder).passed()) << text_of(folder);
}

// One broken log may fail, but it must not switch the check of the others off.
TEST(Package, ConvergenceThatCannotBeJudgedFails) {
  const auto broken = [](const char* key, const char* value, const char* metadata) {
    const TemporaryFolder folder;
    write_package(folder, "closed");
    BertLog log = BertLog::passing("closed");
    log.set("seed", "7").set("global_batch_size", "448");
    log.at(key).metadata = metadata;
    log.at(key).value = value;
    folder.write(std::string(kResults) + "result_3.txt", log.text());
    const PackageVerdict verdict = check(folder);
    EXPECT_FALSE(verdict.passed());
    return package_text(verdict);
  };
  std::string text = broken("eval_accuracy", "0.7201", "");
  EXPECT_THAT(text, HasSubstr("cannot be judged: result_3.txt: an evaluation has no epoch_num"));
  text = broken("global_batch_size", "512", "");
  EXPECT_THAT(text, HasSubstr("cannot be judged: Batch sizes in files do not match"));
}

TEST(Package, WhatOnlyLooksLikeAFileIsTold) {
  const TemporaryFolder folder;
  write_package(folder, "open");
  folder.write("Strata/systems/._laptop.json", "of another system");
  EXPECT_TRUE(check(folder).passed()) << text_of(folder);
  fs::create_directories(folder.path() / kResults / "result_10.txt");
  EXPECT_FALSE(check(folder).passed());
  EXPECT_THAT(text_of(folder), HasSubstr("result_10.txt is a folder, not a log"));
}

// Nothing of it ends the check, eats memory or waits.
TEST(Package, WhatIsNoRegularFileIsSaidAndNotRead) {
  const TemporaryFolder folder;
  write_package(folder, "closed");
  const fs::path systems = folder.path() / "Strata/systems", results = folder.path() / kResults;
  fs::create_symlink("/dev/zero", systems / "zero.json");
  ASSERT_EQ(::mkfifo((systems / "fifo.json").c_str(), 0600), 0);
  fs::create_symlink("nowhere", systems / "dangling.json");
  fs::remove(results / "result_3.txt");
  ASSERT_EQ(::mkfifo((results / "result_3.txt").c_str(), 0600), 0);
  fs::remove(results / "result_4.txt");
  fs::create_symlink("nowhere", results / "result_4.txt");
  fs::create_directories(results / "power/result_0");
  ASSERT_EQ(::mkfifo((results / "power/result_0/node_0.txt").c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", results / "package_checker_params");
  const std::string text = text_of(folder);
  for (const char* part :
       {"zero.json: is a device", "fifo.json: is a FIFO",
        "dangling.json: cannot open: it is a link", "result_3.txt is a FIFO, not a log",
        "result_4.txt is a link that leads nowhere", "node_0.txt is a FIFO, not a log"}) {
    EXPECT_THAT(text, HasSubstr(part)) << part;
  }
  fs::remove(systems / "laptop.json");
  fs::create_symlink("/dev/zero", systems / "laptop.json");
  EXPECT_THAT(text_of(folder), HasSubstr("systems/laptop.json is a device, not a description"));
}

TEST(Package, ALogThatCannotBeReadIsItsOwnVerdict) {
  const TemporaryFolder folder;
  write_package(folder, "open");
  fs::resize_file(folder.path() / kResults / "result_3.txt", EventLog::kMaxFileBytes + 1);
  const PackageVerdict one = check(folder);
  EXPECT_EQ(one.outcome(), Outcome::kPassed) << package_text(one);
  EXPECT_THAT(package_text(one), HasSubstr("result_3; accepted"));
  fs::resize_file(folder.path() / kResults / "result_4.txt", EventLog::kMaxFileBytes + 1);
  EXPECT_EQ(check(folder).outcome(), Outcome::kFailed);
}

// A path that is too long stands for a folder without permission, which root has everywhere.
TEST(Package, FoldersThatCannotBeListedAreSaid) {
  const TemporaryFolder folder;
  write_package(folder, "open");
  const std::string name(200, 'x');
  const fs::path start = fs::current_path();
  fs::current_path(folder.path() / "Strata/results/laptop");
  for (int i = 0; i < 25; ++i) {
    fs::create_directory(name);
    fs::current_path(name);
  }
  fs::current_path(start);
  ListingProblems problems;
  EXPECT_EQ(find_result_folders(folder.path(), &problems).size(), 1u);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems[0], HasSubstr("cannot be listed: File name too long"));
  EXPECT_THROW(find_result_folders(folder.path()), Error);
  const Section repository = check_repository(folder.path());
  ASSERT_EQ(repository.errors.size(), 1u);
  EXPECT_THAT(repository.errors[0], HasSubstr("cannot be listed"));
  EXPECT_NE(std::system(("rm -rf '" + (folder.path() / "Strata/results").string() + "'").c_str()),
            -1);
}

TEST(Package, WhatStrataWritesBesideALogIsKnown) {
  const TemporaryFolder folder;
  write_package(folder, "open");
  for (const char* ending : {"yaml", "steps.jsonl", "timeline.json", "safetensors"})
    folder.write(std::string(kResults) + "result_1." + ending, "x");
  EXPECT_THAT(text_of(folder), Not(HasSubstr("unknown file")));
  folder.write(std::string(kResults) + "result_11.yaml", "of no log");
  EXPECT_THAT(text_of(folder), HasSubstr("unknown file result_11.yaml"));
}

TEST(Package, WhatHasNoRulesIsNotJudgedAndDoesNotFail) {
  const TemporaryFolder folder;
  write_package(folder, "closed");
  for (int i = 0; i < 5; ++i) {
    BertLog log = BertLog::passing("closed");
    log.set("submission_benchmark", "\"retinanet\"").set("seed", std::to_string(i));
    folder.write("Strata/results/laptop/retinanet/result_" + std::to_string(i) + ".txt",
                 log.text());
  }
  const PackageVerdict verdict = check(folder);
  ASSERT_EQ(verdict.folders.size(), 2u);
  EXPECT_EQ(verdict.folders[0].outcome(), Outcome::kPassed);
  EXPECT_EQ(verdict.folders[1].outcome(), Outcome::kNotJudged) << package_text(verdict);
  EXPECT_EQ(verdict.outcome(), Outcome::kNotJudged);
  const std::string text = package_text(verdict), round = round_text({verdict});
  EXPECT_THAT(text, HasSubstr("passed results/laptop/bert"));
  EXPECT_THAT(text, HasSubstr("not judged results/laptop/retinanet"));
  EXPECT_THAT(round, HasSubstr("1 folder: Strata's own rules cover BERT"));
  EXPECT_THAT(round, Not(HasSubstr("failed results")));
  EXPECT_THAT(package_json({verdict}), HasSubstr("\"outcome\": \"not judged\""));
  // What can be judged still fails.
  fs::remove(folder.path() / "Strata/results/laptop/retinanet/result_0.txt");
  EXPECT_EQ(check(folder).outcome(), Outcome::kFailed);
}

TEST(Package, WithoutRulesForTheRoundNothingIsPassed) {
  const TemporaryFolder folder;
  write_package(folder, "closed");
  fs::rename(folder.path() / "Strata/results/laptop/bert",
             folder.path() / "Strata/results/laptop/llama31_8b");
  const PackageVerdict verdict = check(folder, "5.1.0");
  EXPECT_EQ(verdict.outcome(), Outcome::kNotJudged) << package_text(verdict);
  EXPECT_TRUE(verdict.unread.empty());
  const std::string text = package_text(verdict);
  EXPECT_THAT(text, HasSubstr("there are no rules for training 5.1.0 among Strata's own rules; "
                              "'strata rules install' fetches them (mlperf-logging 4."));
  EXPECT_THROW(check(folder, "5.7.0"), Error);
  // A missing run still fails, as no rules are needed to see it.
  fs::remove(folder.path() / "Strata/results/laptop/llama31_8b/result_0.txt");
  EXPECT_EQ(check(folder, "5.1.0").outcome(), Outcome::kFailed);
}

TEST(Package, WhereNoFolderIsOfTheRoundNothingIsPassed) {
  const TemporaryFolder folder;
  write_package(folder, "closed");
  fs::rename(folder.path() / "Strata/results/laptop/bert",
             folder.path() / "Strata/results/laptop/strong");
  const PackageVerdict skipped = check(folder);
  EXPECT_EQ(skipped.outcome(), Outcome::kNotJudged) << package_text(skipped);
  EXPECT_EQ(skipped.folders.at(0).outcome(), Outcome::kNotJudged);
  EXPECT_THAT(package_text(skipped), HasSubstr("no folder is of a benchmark of training 5.0.0"));
  fs::remove_all(folder.path() / "Strata/results/laptop");
  const PackageVerdict empty = check(folder);
  EXPECT_EQ(empty.outcome(), Outcome::kNotJudged) << package_text(empty);
  EXPECT_THAT(package_text(empty), HasSubstr("results/ holds no result folder"));
}

// The official checker passes over such a folder, too.
TEST(Package, AFolderThatTheRoundDoesNotHaveLeavesTheOthersVerdict) {
  const TemporaryFolder folder;
  write_package(folder, "open");
  fs::create_directories(folder.path() / "Strata/results/laptop/other");
  const PackageVerdict verdict = check(folder);
  EXPECT_EQ(verdict.outcome(), Outcome::kPassed) << package_text(verdict);
  ASSERT_EQ(verdict.folders.size(), 2u);
  EXPECT_EQ(verdict.folders[1].outcome(), Outcome::kNotJudged);
}

TEST(Package, RunsThatWereNotMadeAlikeAreRemarkedOn) {
  const TemporaryFolder folder;
  write_package(folder, "open");
  BertLog log = BertLog::passing();
  log.set("seed", "55").set("global_batch_size", "448").set("opt_base_learning_rate", "0.5");
  folder.write(std::string(kResults) + "result_4.txt", log.text());
  const std::string text = text_of(folder);
  EXPECT_THAT(text, HasSubstr("opt_base_learning_rate is 1 and 0.5"));
  EXPECT_THAT(text, HasSubstr("[review/runs/settings]"));
}

// HPC's weak scaling: a model takes a part of the system.
TEST(Package, NodesOfAModelAreNotThoseOfTheSystem) {
  for (const char* scaling : {"weak", "strong"}) {
    const TemporaryFolder folder;
    for (int i = 0; i < 5; ++i) {
      BertLog log = BertLog::passing("closed");
      log.set("submission_benchmark", "\"deepcam\"").set("seed", std::to_string(i));
      log.append({"number_of_nodes", "64"});
      const std::string results = std::string("Strata/results/laptop/") + scaling + "/deepcam/";
      folder.write(results + "result_" + std::to_string(i) + ".txt", log.text());
      folder.write(results + "pruned_results/result_" + std::to_string(9 + i) + ".txt", "");
    }
    folder.write("Strata/systems/laptop.json",
                 whole_description("Strata", "laptop", "closed", R"("number_of_nodes": "512")"));
    RuleStore rules;
    PackageOptions options;
    options.usage = "hpc";
    options.ruleset = "3.0.0";
    const PackageVerdict verdict = check_package(folder.path() / "Strata", rules, options);
    const std::string text = package_text(verdict);
    EXPECT_EQ(verdict.folders.size(), 1u) << text;
    EXPECT_THAT(text, HasSubstr(std::string("results/laptop/") + scaling + "/deepcam"));
    EXPECT_EQ(text.find("review/system/nodes") == std::string::npos, scaling[0] == 'w') << text;
  }
}

TEST(SubmissionTree, UsageAndRoundAreInferredFromBenchmarksAndPaths) {
  const auto choice_of = [](const char* path, const char* benchmark, const std::string& ruleset) {
    const TemporaryFolder folder;
    BertLog log = BertLog::passing();
    log.set("submission_benchmark", '"' + std::string(benchmark) + '"');
    folder.write(std::string(path) + "/result_0.txt", log.text());
    const auto choice =
        infer_ruleset_of_tree(folder.path() / fs::path(path).begin()->string(), "", ruleset);
    return choice.usage + ' ' + choice.ruleset;
  };
  EXPECT_EQ(choice_of("A/results/s/strong/openfold", "openfold", "3.0.0"), "hpc 3.0.0");
  EXPECT_EQ(choice_of("A/results/s/strong/x", "cosmoflow", "3.0.0"), "hpc 3.0.0");
  EXPECT_EQ(choice_of("v2.0", "deepcam", ""), "hpc 2.0.0");
  EXPECT_EQ(choice_of("v2.0", "bert", ""), "training 2.0.0");
  EXPECT_EQ(choice_of("A", "bert", "3.0.0"), "training 3.0.0");
  EXPECT_EQ(choice_of("A", "unheard of", "3.0.0"), "training 3.0.0");
  EXPECT_EQ(choice_of("hpc_results_v1.0", "unheard of", ""), "hpc 1.0.0");
}

TEST(SubmissionTree, PrunedResultsAreNoResults) {
  const TemporaryFolder folder;
  for (const char* path : {"A/results/s/weak/deepcam/", "A/results/s/weak/deepcam/pruned_results/"})
    folder.write(std::string(path) + "result_0.txt", BertLog::passing().text());
  const auto folders = find_result_folders(folder.path());
  ASSERT_EQ(folders.size(), 1u);
  EXPECT_EQ(folders[0].place(), "s/weak/deepcam");
  // Who names it means it.
  EXPECT_EQ(find_result_folders(folder.path() / "A/results/s/weak/deepcam/pruned_results").size(),
            1u);
}

TEST(Outcomes, AWholeIsAsGoodAsItsWorstPart) {
  Section passed{"a", {}, {"a warning"}, {}}, failed{"b", {"an error"}, {}, {}},
      unjudged{"c", {}, {}, {"why"}, false};
  EXPECT_EQ(outcome_of({}), Outcome::kPassed);
  EXPECT_EQ(outcome_of({passed}), Outcome::kPassed);
  EXPECT_EQ(outcome_of({passed, unjudged}), Outcome::kNotJudged);
  EXPECT_EQ(outcome_of({failed, unjudged, passed}), Outcome::kFailed);
  unjudged.errors = {"an error"};
  EXPECT_EQ(unjudged.outcome(), Outcome::kFailed);
  EXPECT_EQ(section_text(passed).substr(0, 8), "passed a");
}

TEST(LogText, ALogWithoutEventsHasOneErrorThatSaysSo) {
  RuleStore rules;
  const LogVerdict verdict =
      check_log(EventLog::from_text("no events\n", "x.txt"), rules, "training", "5.0.0");
  const std::string text = log_text(verdict);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;  // with the rules' line
  EXPECT_THAT(text, HasSubstr("no line holds ':::MLLOG'"));
  EXPECT_THAT(text, HasSubstr("13 findings"));
  // One that has lines, though broken ones, is another matter.
  const LogVerdict broken =
      check_log(EventLog::from_text(":::MLLOG {\n", "x.txt"), rules, "training", "5.0.0");
  EXPECT_THAT(log_text(broken), HasSubstr("parsing errors"));
}

TEST(Seeds, AreComparedAsPythonCompares) {
  const auto log_with = [](const std::string& name, const std::string& seed,
                           const std::string& metadata) {
    return read_seeds(EventLog::from_text(R"(:::MLLOG {"time_ms": 1, "key": "seed", "value": )" +
                                              seed + R"(, "metadata": )" + metadata + "}\n",
                                          name));
  };
  const auto same = [&](const char* seed_a, const char* at_a, const char* seed_b,
                        const char* at_b) {
    const Section section =
        check_seeds({log_with("a.txt", seed_a, at_a), log_with("b.txt", seed_b, at_b)});
    return !section.errors.empty();
  };
  const char* at = R"({"file": "train.cc", "lineno": 1})";
  EXPECT_TRUE(same("7", at, "7", R"({"file": "train.cc", "lineno": 1.0})"));
  EXPECT_TRUE(same("7", at, "7", R"({"file": "train.cc", "lineno": true})"));
  EXPECT_FALSE(same("7", at, "7", R"({"file": "train.cc", "lineno": 2})"));
  EXPECT_TRUE(same("100", at, R"("1_00\n")", at));
  EXPECT_FALSE(same("100", at, R"("1_01")", at));
  EXPECT_TRUE(same("42", at, R"("\u0664\u0662")", at));                     // Arabic-Indic digits
  EXPECT_TRUE(same("42", at, R"("\u3000+\ud835\udfd2\ud835\udfd0")", at));  // bold, after a space
  const std::string a = R"({"lineno": 1, "file": ")" + std::string(400, 'x') + "a\"}",
                    b = R"({"lineno": 1, "file": ")" + std::string(400, 'x') + "b\"}";
  EXPECT_FALSE(same("7", a.c_str(), "7", b.c_str()));
}

// sys.int_info.default_max_str_digits of Python, which counts neither the sign nor underscores.
TEST(Seeds, ATextMayHaveAsManyDigitsAsPythonReads) {
  const auto problem_of = [](const std::string& seed) {
    return read_seeds(EventLog::from_text(R"(:::MLLOG {"time_ms": 1, "key": "seed", "value": ")" +
                                              seed +
                                              R"(", "metadata": {"file": "a", "lineno": 1}})"
                                              "\n",
                                          "a.txt"))
        .problem;
  };
  const std::string most(4300, '1');
  EXPECT_EQ(problem_of(most), "");
  EXPECT_EQ(problem_of("-" + most), "");
  EXPECT_EQ(problem_of("1_" + most.substr(1)), "");
  EXPECT_THAT(problem_of(most + "1"), HasSubstr("is not an integer"));
  EXPECT_THAT(problem_of("0" + most), HasSubstr("is not an integer"));
}

TEST(Seeds, EverySeedOfALogCounts) {
  const auto log_with = [](const std::string& name, const std::vector<int>& seeds) {
    std::string text;
    for (const int seed : seeds) {
      text += R"(:::MLLOG {"time_ms": 1, "key": "seed", "value": )" + std::to_string(seed) +
              R"(, "metadata": {"file": "train.cc", "lineno": 1}})" + "\n";
    }
    return read_seeds(EventLog::from_text(text, name));
  };
  const Section section =
      check_seeds({log_with("a.txt", {1, 2, 3}), log_with("b.txt", {4}), log_with("c.txt", {3})});
  EXPECT_EQ(section.warnings, (std::vector<std::string>{"a.txt: logs 3 seeds"}));
  ASSERT_EQ(section.errors.size(), 1u);
  EXPECT_TRUE(section.errors[0].starts_with("c.txt: seed 3 of ")) << section.errors[0];
  EXPECT_TRUE(section.errors[0].ends_with("is already that of a.txt")) << section.errors[0];
  EXPECT_EQ(check_seeds({log_with("a.txt", {})}).errors,
            (std::vector<std::string>{"a.txt: logs no seed"}));
}

TEST(Package, WhatIsMissingIsSaid) {
  const TemporaryFolder folder;
  write_package(folder, "open");
  fs::remove(folder.path() / "Strata/systems/laptop.json");
  EXPECT_THAT(text_of(folder), HasSubstr("systems/laptop.json is missing"));
  RuleStore rules;
  PackageOptions options;
  options.ruleset = "5.0.0";
  EXPECT_THROW(check_package(folder.path(), rules, options), Error);
  EXPECT_THROW(check_round(folder.path() / "Strata/results", rules, options), Error);
  options.ruleset = "7.7.7";
  EXPECT_THROW(check_package(folder.path() / "Strata", rules, options), Error);
}

TEST(Package, RoundListsItsSubmitters) {
  const TemporaryFolder folder;
  write_package(folder, "open");
  folder.write("Other/systems/x.json", "{}");
  fs::create_directories(folder.path() / "Other/results");
  RuleStore rules;
  PackageOptions options;
  options.ruleset = "5.0.0";
  const auto packages = check_round(folder.path(), rules, options);
  ASSERT_EQ(packages.size(), 2u);
  EXPECT_FALSE(packages[0].passed());
  EXPECT_TRUE(packages[1].passed());
  EXPECT_THAT(round_text(packages), HasSubstr("missing field \"submitter\""));
  EXPECT_THAT(package_json(packages), HasSubstr("\"submitter\": \"Strata\""));
}

TEST(SystemDescription, FieldsAndAvailabilityAreChecked) {
  const auto check_text = [](const std::string& json, const char* ruleset = "5.0.0") {
    return check_system_text(json, "x.json", "training", ruleset);
  };
  EXPECT_TRUE(check_text(system_description("open")).passed());
  EXPECT_TRUE(check_text(" \n" + system_description("open") + " \n").passed());
  EXPECT_EQ(check_text("{}").errors.size(), 33u);
  EXPECT_FALSE(check_text("[]").passed());
  EXPECT_FALSE(check_text("{\"a\": 1,}").passed());
  EXPECT_FALSE(check_text("").passed());
  for (const char* status : {"Available on-premise", "Available cloud", "Preview",
                             "Research, Development, or Internal (RDI)"}) {
    EXPECT_TRUE(check_text(system_description("open", status)).passed()) << status;
  }
  EXPECT_FALSE(check_text(system_description("open", "onprem")).passed());
  EXPECT_FALSE(check_text(system_description("open", "")).passed());
  EXPECT_TRUE(check_text(system_description("open", "onprem"), "3.1.0").passed());
  std::string number = system_description("open");
  number.replace(number.find("\"framework\": \"2\""), 16, "\"framework\": 1");
  EXPECT_TRUE(check_text(number).passed());
  EXPECT_EQ(check_text(number).warnings.size(), 1u);
}

TEST(SystemDescription, OneThatIsTooLargeIsAnErrorOfItsOwn) {
  const TemporaryFolder folder;
  // Many small values take far more memory than text.
  std::string values = "[[]";
  for (int i = 0; i < 4'000'000; ++i) values += ",[]";
  const Section in_memory =
      check_system_text("{\"a\": " + values + "]}", "x.json", "training", "5.0.0");
  EXPECT_EQ(in_memory.errors.size(), 1u);
  folder.write("system.json", system_description("open") + std::string(2 << 20, ' '));
  const Section on_disk =
      check_system_description(folder.path() / "system.json", "training", "5.0.0");
  ASSERT_EQ(on_disk.errors.size(), 1u);
  EXPECT_THAT(on_disk.errors[0], HasSubstr("too many"));
}

TEST(SystemDescription, BytesThatAreNotUtf8AreWarnedOf) {
  const TemporaryFolder folder;
  const auto warnings = [&](const std::string& name) {
    std::string text = system_description("open");
    text.replace(text.find("\"framework\": \"2\""), 16, "\"framework\": \"" + name + "\"");
    folder.write("system.json", text);
    return check_system_description(folder.path() / "system.json", "training", "5.0.0")
        .warnings.size();
  };
  // The first and the last of every row of RFC 3629's table, and what lies beside them.
  for (const char* good :
       {"a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xe0\xbf\xbf", "\xe1\x80\x80",
        "\xec\xbf\xbf", "\xed\x80\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbf",
        "\xf0\x90\x80\x80", "\xf0\xbf\xbf\xbf", "\xf1\x80\x80\x80", "\xf3\xbf\xbf\xbf",
        "\xf4\x80\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(warnings(good), 0u) << good;
  }
  for (const char* bad : {"\x80",
                          "\xbf",
                          "\xc0\x80",
                          "\xc1\xbf",
                          "\xc2",
                          "\xc2\x7f",
                          "\xc2\xc0",
                          "\xe0\x9f\xbf",
                          "\xe0\xa0",
                          "\xe1\x80",
                          "\xe1\x80\x7f",
                          "\xe1\x80\xc0",
                          "\xed\xa0\x80",
                          "\xed\xbf\xbf",
                          "\xf0\x8f\xbf\xbf",
                          "\xf0\x90\x80",
                          "\xf1\x80\x80\x7f",
                          "\xf1\x80\x80\xc0",
                          "\xf4\x90\x80\x80",
                          "\xf5\x80\x80\x80",
                          "\xff"}) {
    EXPECT_EQ(warnings(bad), 1u) << ::testing::PrintToString(bad);
  }
}

TEST(Power, FilesMustBeCompleteAndAsMany) {
  const TemporaryFolder folder;
  std::vector<fs::path> logs;
  for (int i = 0; i < 3; ++i) {
    const std::string run = "result_" + std::to_string(i);
    logs.push_back(folder.path() / (run + ".txt"));
    for (const char* name : {"node_0.txt", "node_1.txt", "sw_0.txt"})
      folder.write("power/" + run + "/" + name, "");
  }
  EXPECT_TRUE(check_power(folder.path() / "power", logs).failed_runs.empty());
  EXPECT_TRUE(check_power(folder.path() / "power", logs).section.notes.empty());
  folder.write("power/result_1/node_5.txt", "");
  folder.write("power/result_2/sw_1.txt", "");
  EXPECT_EQ(check_power(folder.path() / "power", logs).failed_runs,
            (std::set<std::string>{"result_1", "result_2"}));
  EXPECT_TRUE(check_power(folder.path() / "power", logs).section.warnings.empty());
  folder.write("power/result_0/notes.txt", "");
  const PowerVerdict noted = check_power(folder.path() / "power", logs);
  ASSERT_EQ(noted.section.warnings.size(), 1u);
  EXPECT_TRUE(noted.section.warnings[0].starts_with("result_0: files that are neither"));
  EXPECT_EQ(noted.failed_runs.count("result_0"), 0u);
  logs.push_back(folder.path() / "result_9.txt");
  EXPECT_EQ(check_power(folder.path() / "power", logs).failed_runs.count("result_9"), 1u);
}

TEST(Power, RunsWithoutWholePowerLogsCountAsFailed) {
  const TemporaryFolder folder;
  write_package(folder, "open");
  const auto node_of = [](int run) {
    return std::string(kResults) + "power/result_" + std::to_string(run) + "/node_0.txt";
  };
  for (int run = 0; run < 10; ++run) folder.write(node_of(run), "");
  EXPECT_TRUE(check(folder).passed()) << text_of(folder);
  fs::remove(folder.path() / node_of(3));
  EXPECT_TRUE(check(folder).passed()) << text_of(folder);
  EXPECT_THAT(text_of(folder), HasSubstr("result_3; accepted"));
  fs::remove_all((folder.path() / node_of(7)).parent_path());
  EXPECT_FALSE(check(folder).passed());
  EXPECT_THAT(text_of(folder), HasSubstr("result_3, result_7; at most 1 may"));
}

TEST(Repository, AnEmptyFolderIsNotJudged) {
  const TemporaryFolder folder;
  EXPECT_EQ(check_repository(folder.path()).outcome(), Outcome::kNotJudged);
  folder.write("a", "");
  EXPECT_EQ(check_repository(folder.path()).outcome(), Outcome::kPassed);
}

TEST(Power, WithoutAPowerLogNothingIsJudged) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "power/result_0");
  const auto verdict = check_power(folder.path() / "power", {folder.path() / "result_0.txt"});
  EXPECT_EQ(verdict.section.outcome(), Outcome::kNotJudged);
  EXPECT_TRUE(verdict.failed_runs.empty());
}

TEST(Repository, NamesSizesAndLinks) {
  const TemporaryFolder folder;
  folder.write("good/file.txt", "x");
  EXPECT_TRUE(check_repository(folder.path()).passed());
  fs::create_symlink("file.txt", folder.path() / "good/link");
  EXPECT_TRUE(check_repository(folder.path()).passed());
  folder.write("bad name.txt", "x");
  folder.write(".hidden", "x");
  fs::create_symlink("nowhere", folder.path() / "dangling");
  fs::resize_file(folder.write("large", "x"), kMaxRepositoryFileBytes + 1);
  ASSERT_EQ(::mkfifo((folder.path() / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(check_repository(folder.path()).errors.size(), 5u);
}

}  // namespace
}  // namespace strata::compliance
