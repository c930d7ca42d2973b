#include "scoring/weak_score.h"

#include "scoring/score_report.h"
#include "scoring/summary/summary.h"
#include "tests/compliance/submission.h"
#include "tests/support/matchers.h"

namespace strata::scoring {
namespace {

using ::strata::testing::BertLog;
using ::strata::testing::TemporaryFolder;
using ::strata::testing::whole_description;
using ::strata::testing::write_text;

// Writes models that train at the same time: number i starts at minute i and takes ten minutes.
void write_models(const TemporaryFolder& folder, int models, int64_t nodes = 2) {
  for (int i = 0; i < models; ++i) {
    BertLog log = BertLog::passing("closed");
    log.set("submission_benchmark", "\"deepcam\"");
    log.append({"number_of_nodes", std::to_string(nodes)});
    log.append({"accelerators_per_node", i == 0 ? "\"4\"" : "4"});
    log.at("run_start").time_ms += 60'000.0 * i;
    log.at("run_stop").time_ms = log.at("run_start").time_ms + 600'000;
    folder.write("Acme/results/box/weak/deepcam/result_" + std::to_string(i) + ".txt", log.text());
  }
  folder.write("Acme/systems/box.json", whole_description("Acme", "box"));
}

Score score_models(const TemporaryFolder& folder) {
  folder.write("rules/hpc_3.0.0/common.yaml", "- KEY:\n    NAME: run_stop\n    REQ: EXACTLY_ONE\n");
  const auto scores = score_directory(
      folder.path() / "Acme",
      {.usage = "hpc", .ruleset = "3.0.0", .rules = folder.path() / "rules", .threads = 1});
  EXPECT_EQ(scores.size(), 1u);
  return scores.at(0);
}

TEST(WeakScore, HasModelsScaleAndTimeForAllModels) {
  const TemporaryFolder folder;
  write_models(folder, 7);
  const Score score = score_models(folder);
  ASSERT_TRUE(score.weak) << score.weak_problem << score.runs.at(0).reason;
  EXPECT_EQ(score.weak->models, 7u);
  EXPECT_EQ(score.weak->instance_scale, 8);
  EXPECT_DOUBLE_EQ(score.weak->time_to_train_all_ms, 600'000 + 6 * 60'000);
  EXPECT_FALSE(score.time_to_train_ms);
  const std::string table = score_table({score});
  EXPECT_THAT(table, HasSubstr("weak scaling:"));
  EXPECT_THAT(table, HasSubstr("16.0000"));
  EXPECT_THAT(table, Not(HasSubstr("no score")));
}

TEST(WeakScore, FewerModelsThanRunsOfASubmissionGiveNone) {
  const TemporaryFolder folder;
  write_models(folder, 4);
  const Score score = score_models(folder);
  EXPECT_FALSE(score.weak);
  EXPECT_EQ(score.weak_problem, "4 models count, but 5 or more are needed");
  EXPECT_THAT(score_table({score}), HasSubstr(score.weak_problem));
}

TEST(WeakScore, ModelsOfDifferentScaleGiveNone) {
  const TemporaryFolder folder;
  write_models(folder, 7);
  write_models(folder, 3, 4);
  EXPECT_EQ(score_models(folder).weak_problem,
            "models were trained on different numbers of accelerators: 16 and 8");
}

TEST(WeakScore, AScaleThatNoLogNamesStaysUnknown) {
  const TemporaryFolder folder;
  write_models(folder, 5);
  for (int i = 0; i < 5; ++i) {
    BertLog log = BertLog::passing("closed");
    log.set("submission_benchmark", "\"deepcam\"");
    log.append({"number_of_nodes", "3"});
    if (i > 0) log.append({"accelerators_per_node", i == 1 ? "null" : "\"many\""});
    folder.write("Acme/results/box/weak/deepcam/result_" + std::to_string(i) + ".txt", log.text());
  }
  const Score score = score_models(folder);
  ASSERT_TRUE(score.weak);
  EXPECT_FALSE(score.weak->instance_scale);
}

// A processor counts as one accelerator.
TEST(WeakScore, ZeroAcceleratorsCountAsOnePerNode) {
  const auto log = mllog::LogReader::from_text(
      BertLog::line({"number_of_nodes", "3"}) + BertLog::line({"accelerators_per_node", "0"}),
      "log");
  EXPECT_EQ(read_instance_scale(log), 3);
}

TEST(WeakScore, HasItsOwnTableInTheSummary) {
  const TemporaryFolder folder;
  write_models(folder, 5);
  const Summary summary = summarize({score_models(folder)});
  EXPECT_TRUE(summary.strong.rows.empty());
  ASSERT_EQ(summary.weak.rows.size(), 1u);
  const auto column = std::ranges::find(summary.weak.columns, "deepcam:number_of_models");
  ASSERT_NE(column, summary.weak.columns.end());
  EXPECT_EQ(summary.weak.rows[0][static_cast<size_t>(column - summary.weak.columns.begin())],
            SummaryCell(5.0));
  EXPECT_EQ(summary_csv(summary, false).find("division,"), 0u);
}

}  // namespace
}  // namespace strata::scoring
