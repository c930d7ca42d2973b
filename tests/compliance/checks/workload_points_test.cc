#include "compliance/checks/workload_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "tests/compliance/bert_log.h"
#include "tests/support/error_of.h"

namespace strata::compliance {
namespace {

using ::testing::HasSubstr;
using testing_support::error_of;

constexpr char kRecord[] =
    R"("Benchmark": "bert", "Quality target": 0.33, "Evaluation samples": 207, "First evaluation": 352, "Evaluation interval": 16)";

std::string record_of(const std::string& batch_size, const std::string& counts) {
  return "{" + std::string(kRecord) + R"(, "BS": )" + batch_size + R"(, "Epochs to converge": )" +
         counts + "}";
}

constexpr char kCounts[] = "[500, 480, 520, 512, 496]";

// Ten runs at 8, whose mean is 513.2, and ten at 16, all 100 later.
WorkloadPoints own_points() {
  return WorkloadPoints(
      R"({"sixteen": )" + record_of("16", "[600, 580, 620, 612, 596, 660, 644, 628, 580, 612]") +
          R"(, "eight": )" + record_of("8", "[500, 480, 520, 512, 496, 560, 544, 528, 480, 512]") +
          "}",
      "points.json");
}

FolderConvergence evaluated_runs(double batch_size, const std::vector<double>& counts) {
  std::vector<RunConvergence> all;
  for (const double count : counts) {
    RunConvergence run{count < kNeverConverged, count, batch_size, "bert", ""};
    run.workload = {0.33, 207};
    run.evaluated = {352, 16};
    all.push_back(run);
  }
  return combine(all);
}

RcpVerdict judge(double batch_size, const std::vector<double>& counts) {
  return check_workload(evaluated_runs(batch_size, counts), own_points());
}

// Values of scipy.stats.t.ppf(0.99, 9) * numpy.std(runs, ddof=1) * sqrt(1 / 10 + 1 / runs).
TEST(WorkloadPoints, ExpectedMeanIsThePredictionIntervalOfSciPy) {
  const WorkloadPoint eight = *own_points().at(8);
  EXPECT_NEAR(eight.deviation, 25.994871289031867, 1e-9);
  const MeanRange ten = expected_mean(eight, 10);
  EXPECT_NEAR(ten.least, 480.4000509604159, 1e-6);
  EXPECT_NEAR(ten.greatest, 545.9999490395842, 1e-6);
  const MeanRange one = expected_mean(eight, 1);
  EXPECT_NEAR(one.least, 436.27730105166467, 1e-6);
  EXPECT_NEAR(one.greatest, 590.1226989483355, 1e-6);
}

TEST(WorkloadPoints, TheVerdictIsTwoSided) {
  const RcpVerdict like = judge(8, std::vector<double>(10, 520));
  EXPECT_EQ(like.outcome(), Outcome::kPassed);
  EXPECT_EQ(like.message,
            "converges like the reference: the mean of 10 runs is 520 samples; expected 480.4 to "
            "546, reference 513.2");
  const RcpVerdict fast = judge(8, std::vector<double>(10, 480.2));
  EXPECT_EQ(fast.outcome(), Outcome::kFailed);
  EXPECT_THAT(
      fast.message,
      HasSubstr("converges faster than the reference: the mean of 10 runs is 480.2 samples"));
  const RcpVerdict slow = judge(8, std::vector<double>(10, 546.2));
  EXPECT_EQ(slow.outcome(), Outcome::kFailed);
  EXPECT_THAT(
      slow.message,
      HasSubstr("converges slower than the reference: the mean of 10 runs is 546.2 samples"));
  EXPECT_FALSE(fast.may_bypass());
}

TEST(WorkloadPoints, OneRunMayMissTheTarget) {
  std::vector<double> counts(10, 520);
  counts[3] = kNeverConverged;
  const RcpVerdict one = judge(8, counts);
  EXPECT_EQ(one.outcome(), Outcome::kPassed);
  EXPECT_THAT(one.message, HasSubstr("of 9 runs is 520 samples; expected 479.5 to 546.9"));
  counts[5] = kNeverConverged;
  const RcpVerdict two = judge(8, counts);
  EXPECT_EQ(two.outcome(), Outcome::kFailed);
  EXPECT_EQ(two.message, "2 of 10 runs did not reach the target; only one in 10 may miss it");
  EXPECT_EQ(judge(8, {520, kNeverConverged}).outcome(), Outcome::kFailed);
  EXPECT_EQ(judge(8, {kNeverConverged}).outcome(), Outcome::kFailed);
}

TEST(WorkloadPoints, ACountThatIsNoNumberOfSamplesIsAnError) {
  for (const double count :
       {std::nan(""), std::numeric_limits<double>::infinity(), 0.0, -8.0, 2e9}) {
    std::vector<double> counts(10, 520);
    counts[3] = count;
    FolderConvergence folder = evaluated_runs(8, std::vector<double>(10, 520));
    folder.epochs = counts;
    const RcpVerdict verdict = check_workload(folder, own_points());
    EXPECT_FALSE(verdict.readable) << count;
    EXPECT_EQ(verdict.outcome(), Outcome::kFailed) << count;
  }
}

// A killed run logs neither eval_samples nor an evaluation.
TEST(WorkloadPoints, AKilledRunCountsAsOneThatMissedTheTarget) {
  std::vector<RunConvergence> runs(10, {true, 520, 8, "bert", ""});
  for (RunConvergence& run : runs) {
    run.workload = {0.33, 207};
    run.evaluated = {352, 16};
  }
  runs[4] = {false, kNeverConverged, 8, "bert", ""};
  runs[4].workload.quality_target = 0.33;
  const RcpVerdict verdict = check_workload(combine(runs), own_points());
  EXPECT_EQ(verdict.outcome(), Outcome::kPassed);
  EXPECT_THAT(verdict.message, HasSubstr("the mean of 9 runs"));
  runs.front().batch_size.reset();
  EXPECT_EQ(check_workload(combine(runs), own_points()).message,
            "a run logs no submission_benchmark or no global_batch_size");
}

TEST(WorkloadPoints, BatchSizesBetweenTwoPointsAreInterpolated) {
  const WorkloadPoint twelve = *own_points().at(12);
  EXPECT_DOUBLE_EQ(twelve.mean, 563.2);
  EXPECT_NEAR(twelve.deviation, 25.994871289031867, 1e-9);
  EXPECT_EQ(judge(12, std::vector<double>(10, 563)).outcome(), Outcome::kPassed);
  EXPECT_EQ(judge(12, std::vector<double>(10, 513)).outcome(), Outcome::kFailed);
  EXPECT_EQ(judge(12, {563}).point_batch_sizes, (std::vector<double>{8, 16}));
  EXPECT_EQ(judge(16, {563}).point_batch_sizes, (std::vector<double>{16}));
  const RcpVerdict large = judge(32, std::vector<double>(10, 700));
  EXPECT_EQ(large.outcome(), Outcome::kNotJudged);
  EXPECT_EQ(large.message, "there is no reference point for batch size 32, only for 8 to 16");
  EXPECT_EQ(judge(4, std::vector<double>(10, 500)).outcome(), Outcome::kNotJudged);
}

TEST(WorkloadPoints, RunsThatAreEvaluatedTooRarelyAreNotJudged) {
  FolderConvergence late = evaluated_runs(8, std::vector<double>(10, 528));
  late.evaluated = {480, 48};
  const RcpVerdict verdict = check_workload(late, own_points());
  EXPECT_EQ(verdict.outcome(), Outcome::kNotJudged);
  EXPECT_EQ(
      verdict.message,
      "the runs were evaluated too rarely to compare them with the reference: first after 480 "
      "samples, then every 48; needed: first after 352 or earlier, then every 16 or less");
  late.evaluated = {352, 24};
  EXPECT_EQ(check_workload(late, own_points()).outcome(), Outcome::kNotJudged);
  // Batches of 12 end at 360, and every 24 samples a batch ends after 16 more.
  FolderConvergence twelve = evaluated_runs(12, std::vector<double>(10, 563));
  twelve.evaluated = {360, 24};
  EXPECT_EQ(check_workload(twelve, own_points()).outcome(), Outcome::kPassed);
  twelve.evaluated = {372, 24};
  EXPECT_EQ(check_workload(twelve, own_points()).outcome(), Outcome::kNotJudged);
  late.evaluated = {360, 16};
  EXPECT_EQ(check_workload(late, own_points()).outcome(), Outcome::kNotJudged);
}

TEST(WorkloadPoints, RunsOfAnotherWorkloadAreNotJudged) {
  FolderConvergence other = evaluated_runs(8, std::vector<double>(10, 520));
  other.workload.eval_samples = 10'000;
  const RcpVerdict verdict = check_workload(other, own_points());
  EXPECT_EQ(verdict.outcome(), Outcome::kNotJudged);
  EXPECT_EQ(verdict.message,
            "the logs have quality_target 0.33 and eval_samples 10,000, but these points are for "
            "quality_target 0.33 and eval_samples 207");
  EXPECT_EQ(find_workload_points(other), nullptr);
  other.workload.contradicts_itself = true;
  EXPECT_EQ(check_workload(other, own_points()).message,
            "the logs have several values of quality_target or eval_samples");
  other = evaluated_runs(8, std::vector<double>(10, 520));
  other.benchmark = "resnet";
  EXPECT_EQ(check_workload(other, own_points()).message,
            "the logs are of the benchmark 'resnet', but these points are of 'bert'");
  std::vector<RunConvergence> two(2);
  two[0].workload = {0.33, 207};
  two[1].workload = {0.34, 207};
  EXPECT_TRUE(combine(two).workload.contradicts_itself);
}

TEST(WorkloadPoints, LogsNameTheirWorkloadAndEvaluations) {
  testing::BertLog log = testing::BertLog::passing("open", 0.34);
  const testing::TemporaryFolder folder;
  const auto put = [&](const std::string& key, const std::string& value,
                       const std::string& metadata = "") {
    const auto stop = std::ranges::find(log.events, "run_stop", &testing::LogEvent::key);
    log.events.insert(stop, {key, value, metadata, stop->time_ms});
  };
  std::erase_if(log.events, [](const auto& event) { return event.key == "eval_samples"; });
  put("quality_target", "0.33");
  put("eval_accuracy", "0.2", R"("epoch_num": 656)");
  put("eval_accuracy", "0.34", R"("epoch_num": 680)");
  put("eval_samples", "207");
  const auto path = folder.path() / "result_0.txt";
  std::ofstream(path) << log.text();
  const RunConvergence run =
      read_convergence(mllog::LogReader(path, mllog::LogFormat::kMllog), "5.0.0");
  EXPECT_EQ(run.workload, (LoggedWorkload{0.33, 207}));
  EXPECT_EQ(run.evaluated.first, 640);
  EXPECT_EQ(run.evaluated.longest_interval, 24);
  EXPECT_EQ(run.epochs, 680);
  const RunConvergence by_samples =
      read_convergence(mllog::LogReader(path, mllog::LogFormat::kMllog), "5.0.0", true);
  EXPECT_EQ(by_samples.evaluated.first, 640);
}

TEST(WorkloadPoints, FilesThatAreNoPointsOfAWorkloadAreRefused) {
  EXPECT_FALSE(WorkloadPoints::has_workload("not JSON"));
  EXPECT_FALSE(WorkloadPoints::has_workload(
      R"({"bert_256": {"Benchmark": "bert", "BS": 256, "Epochs to converge": [1, 2, 3]}})"));
  EXPECT_TRUE(
      WorkloadPoints::has_workload(R"({"eight": )" + record_of("8", "[1, 2, 3, 4, 5]") + "}"));
  // A misspelt field is no reason to judge by MLPerf's rules.
  EXPECT_TRUE(
      WorkloadPoints::has_workload(R"({"a": {"Quality Target": 1, "Evaluation samples": 2}})"));
  const auto error = [](const std::string& text) {
    return error_of([&] { WorkloadPoints(text, "points.json"); });
  };
  EXPECT_EQ(error("[]"), "points.json: expected a JSON object with one record per batch size");
  EXPECT_EQ(error(R"({"eight": )" + record_of("\"8\"", "[1, 2, 3, 4, 5]") + "}"),
            "points.json: record 'eight' needs \"BS\", a number above 0 and at most 1e+08");
  EXPECT_EQ(error(R"({"eight": )" + record_of("8", "[1, 2, 3, 4]") + "}"),
            "points.json: record 'eight' needs a list \"Epochs to converge\" of at least 5 numbers "
            "from 1 to 1e+08");
  EXPECT_EQ(error(R"({"eight": )" + record_of("8", "[1, 2, 3, 4, -5]") + "}"),
            error(R"({"eight": )" + record_of("8", "[1, 2, 3, 4, null]") + "}"));
  EXPECT_EQ(error(R"({"a": )" + record_of("8", "[1, 2, 3, 4, 5]") + R"(, "b": )" +
                  record_of("8", "[1, 2, 3, 4, 5]") + "}"),
            "points.json: two records have the batch size 8");
  EXPECT_EQ(
      error(R"({"a": )" + record_of("8", "[1, 2, 3, 4, 5]") + R"(, "b": {"Benchmark": "bert"}})"),
      "points.json: record 'b' needs \"Quality target\", a number above 0 and at most 1e+08");
  EXPECT_EQ(
      error(R"({"a": )" + record_of("8", kCounts) + R"(, "a": )" + record_of("16", kCounts) + "}"),
      "points.json: \"a\" occurs twice in an object");
  EXPECT_THAT(error(R"({"a": {"Quality target": NaN}})"), HasSubstr("points.json: "));
  EXPECT_THAT(error(std::string(2 << 20, ' ')), HasSubstr("has more than 1048576 bytes"));
}

TEST(WorkloadPoints, AReferenceWhoseRunsDifferTooMuchDoesNotJudge) {
  const WorkloadPoints wide(R"({"eight": )" + record_of("8", "[1, 900, 1, 900, 1]") + "}",
                            "wide.json");
  EXPECT_EQ(check_workload(evaluated_runs(8, {520}), wide).outcome(), Outcome::kNotJudged);
}

// Other programs write NaN. Then MLPerf's rules must not judge instead.
TEST(WorkloadPoints, ADamagedFileIsNotJudgedAsMlperfPoints) {
  const testing::TemporaryFolder folder;
  const std::string text = R"({"a": )" + record_of("8", kCounts) + R"(, "b": NaN})";
  const auto path = folder.write("points.json", text);
  EXPECT_THAT(error_of([&] {
                check_rcp_by(path, evaluated_runs(8, {520}), "training", "5.0.0", RcpPass::kPruned);
              }),
              HasSubstr("points.json: "));
  EXPECT_THAT(error_of([&] { ReferencePoints(text, "points.json", "training", "5.0.0", "bert"); }),
              HasSubstr("these are the points of a workload"));
}

}  // namespace
}  // namespace strata::compliance
