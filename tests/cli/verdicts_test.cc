// Tests that commands call nothing passed or failed that was not judged, and that verdicts have
// numbers.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/tools.h"
#include "tests/compliance/submission.h"

namespace strata::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::strata::testing::whole_description;
using ::strata::testing::write_submission;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class Verdicts : public Tools {
 protected:
  // Writes a closed submission of another benchmark than BERT; HPC's has a folder for the scaling.
  void write_other(const std::string& tree, const std::string& benchmark,
                   const std::string& folder) {
    for (int i = 0; i < 10; ++i) {
      BertLog log = BertLog::passing("closed");
      log.set("submission_benchmark", '"' + benchmark + '"').set("seed", std::to_string(i));
      log.at("eval_accuracy").metadata = "\"epoch_num\": 640, \"samples_count\": 640";
      log.at("run_stop").time_ms += 60'000;
      folder_.write(tree + "/results/box/" + folder + "/" + run_name(i), log.text());
    }
    folder_.write(tree + "/systems/box.json", whole_description(tree, "box"));
  }
};

TEST_F(Verdicts, RoundsWithoutRulesAreNotJudgedByAnyCommand) {
  write_other("Later", "llama31_8b", "llama31_8b");
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"check", "log", path("Later"), "--ruleset", "5.1"},
           {"check", "package", path("Later"), "--ruleset", "5.1"},
           {"check", "round", path(), "--ruleset", "5.1"}}) {
    const ProcessResult printed = strata_at_home(words);
    EXPECT_EQ(printed.exit_code, 0) << printed.out << printed.err;
    EXPECT_EQ(printed.err, "");
    EXPECT_TRUE(contains(printed.out, "not judged")) << printed.out;
    EXPECT_TRUE(contains(printed.out, "'strata rules install' installs them (mlperf-logging "))
        << printed.out;
    auto strict = words;
    strict.push_back("--require-verdict");
    EXPECT_EQ(strata_at_home(strict).exit_code, 1);
  }
  const ProcessResult scored = strata_at_home({"score", path("Later"), "--ruleset", "5.1"});
  EXPECT_EQ(scored.exit_code, 0) << scored.err;
  EXPECT_TRUE(contains(scored.out, "10/10")) << scored.out;
  EXPECT_TRUE(contains(scored.out, "olympic")) << scored.out;
  EXPECT_TRUE(contains(scored.out, "'strata rules install' installs them")) << scored.out;
  const json score =
      json::parse(strata_at_home({"score", path("Later"), "--ruleset", "5.1", "--json"}).out);
  EXPECT_GT(score.at("scores")[0].at("time_to_train_ms").get<double>(), 60'000);
  const ProcessResult preview =
      strata_at_home({"package", "preview", path("Later"), "--ruleset", "5.1"});
  EXPECT_EQ(preview.exit_code, 0) << preview.err;
  EXPECT_TRUE(contains(preview.out, "box")) << preview.out;
  const ProcessResult report =
      strata_at_home({"report", path("Later"), "--ruleset", "5.1", "-o", path("report.html")});
  EXPECT_EQ(report.exit_code, 0) << report.err;
}

TEST_F(Verdicts, UsageIsInferredFromTheBenchmarksInEveryCommand) {
  write_other("Org", "openfold", "strong/openfold");
  const ProcessResult package =
      strata_at_home({"check", "package", path("Org"), "--ruleset", "3.0"});
  EXPECT_EQ(package.exit_code, 0) << package.err;
  EXPECT_TRUE(contains(package.out, "usage: hpc")) << package.out;
  EXPECT_TRUE(contains(package.out, "no rules for hpc 3.0.0")) << package.out;
  EXPECT_TRUE(contains(package.out, "not judged results/box/strong/openfold")) << package.out;
  EXPECT_TRUE(contains(package.out, "not judged " + path("Org"))) << package.out;
  const ProcessResult rcp = strata_at_home({"check", "rcp", path("Org"), "--ruleset", "3.0"});
  EXPECT_TRUE(contains(rcp.out, "'openfold' in hpc 3.0.0")) << rcp.out;
  const ProcessResult system =
      strata_at_home({"check", "system", path("Org/systems/box.json"), "--ruleset", "3.0"});
  EXPECT_TRUE(contains(system.out, "(hpc 3.0.0)")) << system.out;
  // Without --ruleset, the system's logs give the round.
  const ProcessResult inferred = strata_at_home({"check", "system", path("Org/systems/box.json")});
  EXPECT_EQ(inferred.exit_code, 0) << inferred.err;
  EXPECT_TRUE(contains(inferred.out, "(hpc 3.0.0)")) << inferred.out;
  // A wrong usage passes nothing.
  const ProcessResult wrong =
      strata_at_home({"check", "package", path("Org"), "--ruleset", "3.0", "--usage", "training"});
  EXPECT_EQ(wrong.exit_code, 0) << wrong.err;
  EXPECT_TRUE(contains(wrong.out, "not judged " + path("Org"))) << wrong.out;
  EXPECT_EQ(strata_at_home({"check", "package", path("Org"), "--ruleset", "3.0", "--usage",
                            "training", "--require-verdict"})
                .exit_code,
            1);
}

TEST_F(Verdicts, SeedsOfRoundsWithoutSeedRulesAreNotJudged) {
  const ProcessResult early = strata_at_home({"check", "seeds", path("Acme"), "--ruleset", "0.7"});
  EXPECT_EQ(early.exit_code, 0) << early.err;
  EXPECT_TRUE(contains(early.out, "not judged Seeds")) << early.out;
  EXPECT_TRUE(contains(strata_at_home({"check", "seeds", path("Acme")}).out, "passed Seeds"));
}

TEST_F(Verdicts, ConvergenceIsShownWithItsNumbers) {
  fs::remove_all(path("Acme"));
  write_submission(path(), "Acme", "good", 10, [](BertLog& log, int run) {
    log.set("global_batch_size", "3072");
    log.at("eval_accuracy").metadata = "\"epoch_num\": " + std::to_string(1'900'000 + 10'000 * run);
  });
  const ProcessResult text = strata_at_home({"check", "rcp", path("Acme"), "--ruleset", "5.0"});
  EXPECT_EQ(text.exit_code, 1) << text.err;
  for (const char* part : {"mean 1,945,000 to converge, reference mean 2,656,", "at least 2,545,",
                           "batch size 3,072, between", "runs: 1,900,000; 1,910,000;"}) {
    EXPECT_TRUE(contains(text.out, part)) << part << '\n' << text.out;
  }
  EXPECT_FALSE(contains(text.out, "e+06")) << text.out;
  const json checked =
      json::parse(strata_at_home({"check", "rcp", path("Acme"), "--ruleset", "5.0", "--json"}).out);
  const json& rcp = checked.at("sections")[0].at("rcp");
  EXPECT_EQ(rcp.at("mean"), 1'945'000);
  EXPECT_EQ(rcp.at("global_batch_size"), 3072);
  EXPECT_EQ(rcp.at("runs").size(), 10u);
  EXPECT_EQ(rcp.at("point_batch_sizes").size(), 2u);
  EXPECT_GT(rcp.at("reference_mean"), rcp.at("least_mean"));
}

TEST_F(Verdicts, TrainSamplesMayBeMetadataOfTheAccuracy) {
  fs::remove_all(path("Acme"));
  write_submission(path(), "Acme", "good", 10, [](BertLog& log, int run) {
    log.set("global_batch_size", "3072");
    log.at("eval_accuracy").metadata =
        "\"epoch_num\": 1, \"train_samples\": " + std::to_string(2'700'000 + run);
  });
  const ProcessResult epochs = strata_at_home({"check", "rcp", path("Acme"), "--ruleset", "5.0"});
  EXPECT_EQ(epochs.exit_code, 1);
  EXPECT_TRUE(contains(epochs.out, "not samples: epoch_num")) << epochs.out;
  EXPECT_TRUE(contains(epochs.out, "--rcp-bert-train-samples")) << epochs.out;
  const ProcessResult samples = strata_at_home(
      {"check", "rcp", path("Acme"), "--ruleset", "5.0", "--rcp-bert-train-samples"});
  EXPECT_EQ(samples.exit_code, 0) << samples.out;
  EXPECT_TRUE(contains(samples.out, "mean 2,700,00")) << samples.out;
  // A constant train_samples is an error, and no advice names the flag that was given.
  write_submission(path(), "Acme", "good", 10, [](BertLog& log, int) {
    log.set("global_batch_size", "3072").set("train_samples", "1");
  });
  const ProcessResult constant = strata_at_home(
      {"check", "rcp", path("Acme"), "--ruleset", "5.0", "--rcp-bert-train-samples"});
  EXPECT_EQ(constant.exit_code, 1);
  EXPECT_TRUE(contains(constant.out, "not samples: train_samples")) << constant.out;
  EXPECT_FALSE(contains(constant.out, "--rcp-bert-train-samples")) << constant.out;
}

TEST_F(Verdicts, AnEmptyRuleFileIsAnError) {
  folder_.write("rules/training_5.0.0/common.yaml", "");
  const ProcessResult checked =
      strata_at_home({"check", "log", path("Acme"), "--ruleset", "5.0", "--rules", path("rules")});
  EXPECT_EQ(checked.exit_code, 2) << checked.out;
  EXPECT_TRUE(contains(checked.out + checked.err, "common.yaml: holds no rule"))
      << checked.out << checked.err;
}

TEST_F(Verdicts, PrunedResultsOfWeakScalingAreNoResults) {
  write_other("Org", "cosmoflow", "weak/cosmoflow");
  folder_.write("Org/results/box/weak/cosmoflow/pruned_results/result_20.txt",
                BertLog::passing("closed").text());
  const ProcessResult rcp = strata_at_home({"check", "rcp", path("Org"), "--ruleset", "1.0"});
  EXPECT_EQ(rcp.exit_code, 0) << rcp.err;
  EXPECT_FALSE(contains(rcp.out, "pruned_results")) << rcp.out;
  const ProcessResult scored =
      strata_at_home({"score", path("Org"), "--ruleset", "1.0", "--summary", path("summary.csv")});
  EXPECT_EQ(scored.exit_code, 0) << scored.err;
  EXPECT_FALSE(contains(scored.out, "pruned_results")) << scored.out;
}

}  // namespace
}  // namespace strata::cli
