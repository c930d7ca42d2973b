#include "report/runs/report_data.h"

#include "base/error.h"
#include "tests/report/written_runs.h"
#include "tests/support/error_of.h"
#include "tests/support/matchers.h"

namespace strata::report {
namespace {

class ReportDataTest : public ::testing::Test {
 protected:
  ReportData read(std::vector<std::filesystem::path> beside = {}, std::string benchmark = "") {
    return read_report_data({.directories = {mine_.path()},
                             .beside = std::move(beside),
                             .benchmark = std::move(benchmark),
                             .score = {.ruleset = "5.0.0", .threads = 2}});
  }

  strata::testing::TemporaryFolder mine_, published_;
};

TEST_F(ReportDataTest, TheFastestComesFirstAndSystemsWithoutScoreLast) {
  write_run(mine_, "Acme", "slow", 0, log_of({{1, 0.5}, {20, 0.73}}));
  write_run(mine_, "Acme", "fast", 0, log_of({{1, 0.5}, {10, 0.73}}));
  write_run(mine_, "Acme", "aborted", 0, log_of({{1, 0.5}}, true, "aborted"));
  const ReportData data = read();
  ASSERT_EQ(data.folders.size(), 3u);
  EXPECT_EQ(data.folders[0].owner.name, "Acme fast");
  EXPECT_EQ(data.folders[1].owner.name, "Acme slow");
  EXPECT_EQ(data.folders[2].owner.name, "Acme aborted");
  EXPECT_EQ(data.systems[static_cast<size_t>(data.folders[1].owner.system)], "Acme slow");
  EXPECT_EQ(data.folders[0].runs[0].curve.evaluations.size(), 2u);
  ASSERT_TRUE(data.folders[0].runs[0].phases);
  EXPECT_DOUBLE_EQ(data.folders[0].runs[0].phases->total, 600);
  EXPECT_DOUBLE_EQ(*data.folders[0].runs[0].phases->evaluation, 1);
}

TEST_F(ReportDataTest, RecognisesAnUnfinishedRun) {
  write_run(mine_, "Acme", "x", 0, log_of({{1, 0.5}}, false));
  write_run(mine_, "Acme", "x", 1, log_of({{1, 0.73}}));
  mine_.write("Acme/results/x/bert/result_0.steps.jsonl",
              "{\"step\": 7, \"seconds\": 1}\n{\"step\": 8, \"sec");
  const ReportData data = read();
  EXPECT_FALSE(data.folders[0].runs[0].has_ended);
  EXPECT_EQ(data.folders[0].runs[0].steps.size(), 1u);
  EXPECT_TRUE(data.folders[0].runs[1].has_ended);
  EXPECT_TRUE(data.problems.empty()) << "a line that is being written is none";
}

TEST_F(ReportDataTest, ResultsToCompareWithAreGreyAndAppearOnce) {
  write_run(mine_, "Acme", "x", 0, log_of({{10, 0.73}}));
  write_run(published_, "Other", "y", 0, log_of({{5, 0.73}}));
  const ReportData data = read({published_.path(), mine_.path()});
  ASSERT_EQ(data.folders.size(), 2u);
  EXPECT_TRUE(data.folders[0].beside);
  EXPECT_EQ(data.folders[0].owner.colour, -1);
  EXPECT_FALSE(data.folders[1].beside);
  EXPECT_EQ(data.folders[1].owner.colour, 0);
}

TEST_F(ReportDataTest, ManySystemsHaveTheirSubmittersColour) {
  for (int i = 0; i < 12; ++i) {
    write_run(mine_, i % 2 == 0 ? "Acme" : "Bolt", "s" + std::to_string(i), 0,
              log_of({{1.0 + i, 0.73}}));
  }
  const ReportData data = read();
  for (const ReportedFolder& folder : data.folders) {
    EXPECT_EQ(folder.owner.colour, folder.score.folder.submitter == "Acme" ? 0 : 1);
  }
}

TEST_F(ReportDataTest, TwoSystemsMayHaveTheSameName) {
  write_run(mine_, "Acme", "x", 0, log_of({{10, 0.73}}));
  write_run(published_, "Acme", "x", 0, log_of({{5, 0.73}}));
  const ReportData data = read({published_.path()});
  EXPECT_EQ(data.systems.size(), 2u);
  EXPECT_THAT(data.systems[0], HasSubstr(published_.path().string()));
}

TEST_F(ReportDataTest, UnreadableFilesAreProblemsAndTheRestIsShown) {
  write_run(mine_, "Acme", "x", 0, log_of({{10, 0.73}}));
  mine_.write("Acme/results/x/bert/result_0.yaml", "a: [1");
  std::filesystem::create_directories(mine_.path() / "Acme/results/x/bert/result_0.steps.jsonl");
  write_run(mine_, "Acme", "x", 1, "no events\n");
  const ReportData data = read();
  ASSERT_EQ(data.folders.size(), 1u);
  EXPECT_EQ(data.folders[0].score.counting_runs(), 1u);
  ASSERT_EQ(data.problems.size(), 2u);
  EXPECT_THAT(data.problems[0], HasSubstr("result_0.steps.jsonl"));
  EXPECT_THAT(data.problems[1], HasSubstr("result_0.yaml"));
}

TEST_F(ReportDataTest, MayKeepOneBenchmark) {
  write_run(mine_, "Acme", "x", 0, log_of({{10, 0.73}}));
  EXPECT_EQ(read({}, "bert").folders.size(), 1u);
  EXPECT_THAT(testing_support::error_of([&] { read({}, "resnet"); }), HasSubstr("resnet"));
}

TEST_F(ReportDataTest, NoLogsAreAnError) { EXPECT_THROW(read(), Error); }

TEST_F(ReportDataTest, SettingsOfRunsAreMergedByFolder) {
  write_run(mine_, "Acme", "x", 0, log_of({{10, 0.73}}));
  write_run(mine_, "Acme", "x", 1, log_of({{11, 0.73}}));
  write_system(mine_, "Acme", "x");
  mine_.write("Acme/results/x/bert/result_0.yaml", "run:\n  seed: 1\noptimizer:\n  lr: 2\n");
  mine_.write("Acme/results/x/bert/result_1.yaml", "run:\n  seed: 2\noptimizer:\n  lr: 2\n");
  const Settings settings = read().folders[0].settings;
  EXPECT_EQ(settings.at("configuration: run.seed"), "varies");
  EXPECT_EQ(settings.at("configuration: optimizer.lr"), "2");
  EXPECT_EQ(settings.at("log: global_batch_size"), "448");
  EXPECT_EQ(settings.at("system: accelerators_per_node"), "8");
}

}  // namespace
}  // namespace strata::report
