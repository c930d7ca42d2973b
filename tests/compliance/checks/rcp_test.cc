#include "compliance/checks/rcp.h"

#include <cmath>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "tests/compliance/bert_log.h"
#include "tests/support/error_of.h"
#include "tests/support/matchers.h"

namespace strata::compliance {
namespace {

FolderConvergence runs(double batch_size, std::vector<double> epochs) {
  std::vector<RunConvergence> all;
  for (const double epoch : epochs) all.push_back({true, epoch, batch_size, "bert", ""});
  return combine(all);
}

RcpVerdict check(const FolderConvergence& folder, RcpPass pass = RcpPass::kPruned,
                 const char* ruleset = "2.0.0") {
  return check_rcp(folder, {}, "training", ruleset, pass);
}

// Returns the built-in points of round 2.0, pruned and full.
const ReferencePoints& points() {
  static const ReferencePoints loaded = *load_reference_points({}, "training", "2.0.0", "bert");
  return loaded;
}

// Values of scipy.stats.ttest_ind_from_stats(m1, s1, n1, m2, s2, n2), one-sided.
TEST(Rcp, TTestAgreesWithScipy) {
  EXPECT_NEAR(one_sided_p_value(9, 1, 10, 10, 1.5, 8), 0.05471849295521927, 1e-9);
  EXPECT_NEAR(one_sided_p_value(10, 1, 10, 9, 1.5, 8), 1 - 0.05471849295521927, 1e-9);
  EXPECT_DOUBLE_EQ(one_sided_p_value(10, 1, 10, 10, 1, 8), 0.5);
  EXPECT_TRUE(std::isnan(one_sided_p_value(1, 1, 1, 2, 1, 1)));
}

TEST(Rcp, OlympicMeanDropsBothEnds) {
  EXPECT_DOUBLE_EQ(olympic_mean({1, 2, 3, 100}, 1), 2.5);
  EXPECT_TRUE(std::isnan(olympic_mean({1, 2}, 1)));
}

// Values of numpy.mean for 1/2, 1/3, ..., 1/(n + 1), sorted. Sums of any length have the same bits.
TEST(Rcp, MeansHaveTheBitsOfNumPy) {
  for (const auto& [count, mean] : std::map<size_t, double>{{5, 0.29},
                                                            {8, 0.22862103174603174},
                                                            {13, 0.17319710204325586},
                                                            {100, 0.041972785077386304},
                                                            {128, 0.03469452367635679},
                                                            {129, 0.03448520417260447},
                                                            {137, 0.03290575301208835},
                                                            {300, 0.017619953798119054},
                                                            {1000, 0.0064864698615493465},
                                                            {5000, 0.001618941762598487}}) {
    std::vector<double> values;
    for (size_t i = count + 2; i > 0; --i) values.push_back(1 / static_cast<double>(i));
    EXPECT_EQ(olympic_mean(values, 1), mean) << count;
  }
  // The eight numbers 1/3 to 1/10 would give other bits if they were summed in order.
  std::vector<double> eight;
  for (int i = 11; i > 1; --i) eight.push_back(1.0 / i);
  EXPECT_EQ(olympic_mean(eight, 1), 0.17862103174603172);
}

TEST(Rcp, BuiltInPointsExistForEveryRoundWithBert) {
  for (const char* ruleset :
       {"1.0.0", "1.1.0", "2.0.0", "2.1.0", "3.0.0", "3.1.0", "4.0.0", "4.1.0", "5.0.0"}) {
    EXPECT_TRUE(load_reference_points({}, "training", ruleset, "bert")) << ruleset;
  }
  EXPECT_FALSE(load_reference_points({}, "training", "5.1.0", "bert"));
  EXPECT_FALSE(load_reference_points({}, "training", "2.0.0", "resnet"));
}

TEST(Rcp, ConvergenceAtTheReferencePasses) {
  const ReferencePoint& point = points().pruned().front();
  const RcpVerdict verdict = check(runs(point.batch_size, std::vector<double>(10, point.mean)));
  EXPECT_TRUE(verdict.passed);
  EXPECT_EQ(verdict.message, "RCP found");
  EXPECT_DOUBLE_EQ(verdict.scaling, 1);
}

TEST(Rcp, FasterRunsAreScaledInsideTheSpreadAndFailBeyondIt) {
  const ReferencePoint& point = points().pruned().front();
  const double least = point.mean / point.max_speedup;
  const RcpVerdict inside = check(runs(point.batch_size, std::vector<double>(10, least * 1.0001)));
  EXPECT_TRUE(inside.passed);
  EXPECT_NEAR(inside.scaling, point.mean / (least * 1.0001), 1e-12);
  EXPECT_FALSE(check(runs(point.batch_size, std::vector<double>(10, least * 0.999))).passed);
}

TEST(Rcp, BatchSizesBetweenPointsAreInterpolatedOthersAreMissing) {
  const auto& pruned = points().pruned();
  const double between = (pruned[0].batch_size + pruned[1].batch_size) / 2 + 0.5;
  EXPECT_EQ(check(runs(between, std::vector<double>(10, 1e9))).message, "RCP Interpolation");
  const RcpVerdict above = check(runs(1e6, std::vector<double>(10, 1e9)));
  EXPECT_FALSE(above.passed);
  EXPECT_EQ(above.message, "Missing RCP, please submit RCP with BS = 1000000");
  const RcpVerdict slow = check(runs(8, std::vector<double>(10, 1e9)));
  EXPECT_TRUE(slow.passed);
  EXPECT_EQ(slow.message, "RCP not found but slower convergence on smaller batch size");
  EXPECT_EQ(check(runs(8, std::vector<double>(10, 1))).message,
            "Missing RCP, please submit RCP with BS = 8");
}

TEST(Rcp, InterpolatedPointsLieOnTheLine) {
  const auto& pruned = points().pruned();
  const double share = 0.25,
               batch = pruned[0].batch_size + share * (pruned[1].batch_size - pruned[0].batch_size);
  const double mean = pruned[0].mean + share * (pruned[1].mean - pruned[0].mean);
  const RcpVerdict slower = check(runs(batch, std::vector<double>(10, mean * 1.1)));
  EXPECT_TRUE(slower.passed);
  EXPECT_NEAR(*slower.reference_mean, mean, 1e-12);
  EXPECT_DOUBLE_EQ(slower.scaling, 1);
  // A mean that is faster by less than the spread is scaled, by far more refused.
  const RcpVerdict faster = check(runs(batch, std::vector<double>(10, mean * 0.999)));
  EXPECT_TRUE(faster.passed);
  EXPECT_NEAR(faster.scaling, 1 / 0.999, 1e-9);
  EXPECT_FALSE(check(runs(batch, std::vector<double>(10, mean / 2))).passed);
}

// From round 5.0 on, the rules let results of llama31_405b be faster by an evaluation interval.
TEST(Rcp, Llama405bMayBeFasterByOneEvaluationInterval) {
  const strata::testing::TemporaryFolder folder;
  const std::string json =
      R"({"a": {"BS": 1000, "Epochs to converge": [5e5, 5e5, 5e5, 5e5, 5e5]}})";
  for (const std::string ruleset : {"5.0.0", "6.0.0"}) {
    folder.write("training_" + ruleset + "/rcps_llama31_405b.json", json);
    const auto check = [&](double epochs) {
      const std::vector<RunConvergence> all(3, {true, epochs, 1000.0, "llama31_405b", ""});
      return check_rcp(combine(all), folder.path(), "training", ruleset, RcpPass::kPruned);
    };
    EXPECT_DOUBLE_EQ(*check(5e5).least_mean, 5e5 - 46080) << ruleset;
    EXPECT_TRUE(check(5e5 - 46079).passed) << ruleset;
    EXPECT_FALSE(check(5e5 - 46081).passed) << ruleset;
  }
}

TEST(Rcp, AFolderCountsTrainSamplesIfAllItsRunsDo) {
  RunConvergence by_evaluation{true, 1e6, 448.0, "bert", ""}, by_samples = by_evaluation;
  by_samples.by_train_samples = true;
  EXPECT_TRUE(combine({by_samples, by_samples}).by_train_samples);
  EXPECT_FALSE(combine({by_samples, by_evaluation}).by_train_samples);
  EXPECT_FALSE(combine({}).by_train_samples);
}

TEST(Rcp, OneRunMayFailToConverge) {
  FolderConvergence folder =
      runs(points().pruned().front().batch_size, std::vector<double>(9, 1e8));
  std::vector<RunConvergence> all(8, {true, 1e8, 448.0, "bert", ""});
  all.push_back({false, kNeverConverged, 448.0, "bert", ""});
  EXPECT_TRUE(combine(all).enough);
  all.push_back({false, kNeverConverged, 448.0, "bert", ""});
  EXPECT_FALSE(combine(all).enough);
  EXPECT_EQ(check(combine(all)).message, "Insufficient convergence");
}

TEST(Rcp, AFolderThatCannotBeJudgedGetsAReason) {
  EXPECT_FALSE(check(combine({{true, 1, 8.0, "bert", ""}, {true, 1, 9.0, "bert", ""}})).judged);
  EXPECT_EQ(check(combine({{true, 1, 8.0, "bert", ""}, {true, 1, 9.0, "bert", ""}})).message,
            "Batch sizes in files do not match");
  EXPECT_THAT(check(combine({{true, 1, 8.0, "minigo", ""}})).message, HasSubstr("minigo"));
  EXPECT_FALSE(check(runs(448, {1}), RcpPass::kFull, "0.7.0").judged);
  EXPECT_EQ(check(combine({{true, 1, std::nullopt, "bert", ""}})).message,
            "Could not detect global_batch_size");
}

TEST(Rcp, ABatchSizeOfMinusOneCountsAsMissing) {
  testing::BertLog log = testing::BertLog::passing("closed");
  log.set("global_batch_size", "-1");
  const RunConvergence run =
      read_convergence(mllog::LogReader::from_text(log.text(), "test.txt"), "5.0.0");
  EXPECT_EQ(run.batch_size, std::nullopt);
  EXPECT_EQ(check(combine({run})).message, "Could not detect global_batch_size");
}

TEST(Convergence, ARunSucceedsIfEveryRunStopSaysSuccess) {
  const auto says = [](const std::vector<const char*>& metadata) {
    std::string text;
    for (const char* fields : metadata) {
      text += R"(:::MLLOG {"time_ms": 1, "key": "run_stop", "value": null, "metadata": )" +
              std::string(fields) + "}\n";
    }
    return says_success(mllog::LogReader::from_text(text, "test.txt"));
  };
  const char *success = R"({"status": "success"})", *aborted = R"({"status": "aborted"})";
  EXPECT_TRUE(says({success}));
  EXPECT_TRUE(says({success, success}));
  EXPECT_FALSE(says({}));
  EXPECT_FALSE(says({aborted, success}));
  EXPECT_FALSE(says({success, aborted}));
  for (const char* other : {"{}", "null", "[]", R"({"status": true})", R"("success")"})
    EXPECT_FALSE(says({other})) << other;
  const auto of_round_06 = [](const std::string& record) {
    return says_success(mllog::LogReader::from_text(
        ":::MLL 1558631910.748 run_stop: " + record + "\n", "test.txt", mllog::LogFormat::kMll));
  };
  EXPECT_TRUE(of_round_06(R"({"value": null, "metadata": {"status": "success"}})"));
  EXPECT_FALSE(of_round_06(R"({"value": null, "metadata": {"status": "aborted"}})"));
  EXPECT_FALSE(of_round_06(R"({"value": null})"));
  EXPECT_FALSE(of_round_06("7"));
}

TEST(Convergence, SuccessWithoutAnEvaluationIsAProblem) {
  const auto problem_of = [](const std::string& evaluation) {
    return read_convergence(
               mllog::LogReader::from_text(
                   evaluation + R"(:::MLLOG {"time_ms": 1, "key": "run_stop", "value": null,)"
                                R"( "metadata": {"status": "success"}})"
                                "\n",
                   "test.txt"),
               "5.0.0")
        .problem;
  };
  EXPECT_THAT(problem_of(""), HasSubstr("no earlier event says after how many"));
  EXPECT_EQ(problem_of(R"(:::MLLOG {"time_ms": 1, "key": "eval_accuracy", "value": 0.7,)"
                       R"( "metadata": {"epoch_num": 2}})"
                       "\n"),
            "");
}

TEST(Rcp, PointsThatCannotBeReadAreErrors) {
  for (const char* json : {"", "{", "[]", "{}", R"({"a": 1})", R"({"a": {"BS": 1}})",
                           R"({"a": {"BS": 1, "Epochs to converge": [1, 2]}})",
                           R"({"a": {"BS": "x", "Epochs to converge": [1, 2, 3]}})"}) {
    EXPECT_THROW(ReferencePoints(json, "test.json", "training", "2.0.0", "bert"), Error) << json;
  }
}

TEST(Rcp, AFileOfPointsThatIsTooLargeIsRefusedUnread) {
  const strata::testing::TemporaryFolder folder;
  const auto path = folder.write("training_2.0.0/rcps_bert.json", "{}");
  std::filesystem::resize_file(path, (16 << 20) + 1);
  const std::string error = testing_support::error_of(
      [&] { load_reference_points(folder.path(), "training", "2.0.0", "bert"); });
  EXPECT_THAT(error, HasSubstr("more than 16777216 bytes"));
}

}  // namespace
}  // namespace strata::compliance
