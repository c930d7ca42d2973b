#include "compliance/package/package.h"

#include "base/error.h"
#include "tests/compliance/package/small_package.h"
#include "tests/support/matchers.h"

namespace strata::compliance {
namespace {

namespace fs = std::filesystem;

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
    EXPECT_THAT(text_of(folder), HasSubstr("expected 10"));
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
  EXPECT_THAT(text_of(folder), HasSubstr(": mean 640 to converge, reference mean "));
  folder.write("Strata/results/laptop/package_checker_params", "rcp-bypass");
  EXPECT_TRUE(check(folder).passed()) << text_of(folder);
}

// One broken log may fail, but it must not switch the check of the others off.
TEST(Package, ConvergenceThatCannotBeJudgedFails) {
  struct Case {
    const char *key, *value, *reason;
  };
  for (const Case& one :
       {Case{"eval_accuracy", "0.7201",
             "cannot be judged: result_3.txt: an evaluation has no epoch_num"},
        Case{"global_batch_size", "512", "cannot be judged: Batch sizes in files do not match"}}) {
    SCOPED_TRACE(one.key);
    const TemporaryFolder folder;
    write_package(folder, "closed");
    BertLog log = BertLog::passing("closed");
    log.set("seed", "7").set("global_batch_size", "448");
    log.at(one.key).metadata = "";
    log.at(one.key).value = one.value;
    folder.write(std::string(kResults) + "result_3.txt", log.text());
    const PackageVerdict verdict = check(folder);
    EXPECT_FALSE(verdict.passed());
    EXPECT_THAT(package_text(verdict), HasSubstr(one.reason));
  }
}

TEST(Package, AFolderWithoutRulesIsNotJudgedAndDoesNotFail) {
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
  EXPECT_THAT(round, HasSubstr("1 folder: Strata's own rules cover only BERT"));
  EXPECT_THAT(round, Not(HasSubstr("failed results")));
  EXPECT_THAT(package_json({verdict}), HasSubstr("\"outcome\": \"not judged\""));
  // The folder that can be judged still fails.
  fs::remove(folder.path() / "Strata/results/laptop/retinanet/result_0.txt");
  EXPECT_EQ(check(folder).outcome(), Outcome::kFailed);
}

TEST(Package, ARoundWithoutRulesIsNotJudged) {
  const TemporaryFolder folder;
  write_package(folder, "closed");
  fs::rename(folder.path() / "Strata/results/laptop/bert",
             folder.path() / "Strata/results/laptop/llama31_8b");
  const PackageVerdict verdict = check(folder, "5.1.0");
  EXPECT_EQ(verdict.outcome(), Outcome::kNotJudged) << package_text(verdict);
  EXPECT_TRUE(verdict.unread.empty());
  const std::string text = package_text(verdict);
  EXPECT_THAT(text, HasSubstr("there are no rules for training 5.1.0 in Strata's own rules; "
                              "'strata rules install' installs them (mlperf-logging 4."));
  EXPECT_THROW(check(folder, "5.7.0"), Error);
  // A missing run still fails, as no rules are needed to see it.
  fs::remove(folder.path() / "Strata/results/laptop/llama31_8b/result_0.txt");
  EXPECT_EQ(check(folder, "5.1.0").outcome(), Outcome::kFailed);
}

TEST(Package, ASubmissionWithoutFoldersOfTheRoundIsNotJudged) {
  const TemporaryFolder folder;
  write_package(folder, "closed");
  fs::rename(folder.path() / "Strata/results/laptop/bert",
             folder.path() / "Strata/results/laptop/strong");
  const PackageVerdict skipped = check(folder);
  EXPECT_EQ(skipped.outcome(), Outcome::kNotJudged) << package_text(skipped);
  EXPECT_EQ(skipped.folders.at(0).outcome(), Outcome::kNotJudged);
  EXPECT_THAT(package_text(skipped),
              HasSubstr("no folder belongs to a benchmark of training 5.0.0"));
  fs::remove_all(folder.path() / "Strata/results/laptop");
  const PackageVerdict empty = check(folder);
  EXPECT_EQ(empty.outcome(), Outcome::kNotJudged) << package_text(empty);
  EXPECT_THAT(package_text(empty), HasSubstr("results/ holds no result folder"));
}

// The official checker passes over such a folder, too.
TEST(Package, AFolderUnknownToTheRoundDoesNotChangeTheVerdict) {
  const TemporaryFolder folder;
  write_package(folder, "open");
  fs::create_directories(folder.path() / "Strata/results/laptop/other");
  const PackageVerdict verdict = check(folder);
  EXPECT_EQ(verdict.outcome(), Outcome::kPassed) << package_text(verdict);
  ASSERT_EQ(verdict.folders.size(), 2u);
  EXPECT_EQ(verdict.folders[1].outcome(), Outcome::kNotJudged);
}

TEST(Package, RunsWithDifferentSettingsAreReported) {
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
TEST(Package, WeakScalingMayUseFewerNodesThanTheSystem) {
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

TEST(Package, MissingFilesAreNamed) {
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

}  // namespace
}  // namespace strata::compliance
