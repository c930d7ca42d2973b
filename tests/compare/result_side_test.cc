#include "compare/result_side.h"

#include <gmock/gmock.h>

#include <numeric>

#include "tests/compliance/bert_log.h"
#include "tests/support/error_of.h"
#include "tests/support/matchers.h"

namespace strata::compare {
namespace {

using ::strata::testing::BertLog;
using ::strata::testing::TemporaryFolder;
using ::strata::testing_support::error_of;

// Seconds of one run.
struct RunTimes {
  double start, evaluation, total, samples;
};

void write_runs(const TemporaryFolder& folder, const std::string& system,
                const std::vector<RunTimes>& runs, bool evaluations = true) {
  for (size_t i = 0; i < runs.size(); ++i) {
    const RunTimes& run = runs[i];
    BertLog log = BertLog::passing();
    const double begin = log.at("run_start").time_ms;
    const auto place = [&](const char* key, double seconds) {
      log.at(key).time_ms = begin + 1000 * seconds;
    };
    place("block_start", run.start);
    place("epoch_start", run.start);
    place("eval_start", run.total - run.evaluation - 1);
    place("eval_stop", run.total - 1);
    place("eval_accuracy", run.total - 1);
    place("epoch_stop", run.total);
    place("block_stop", run.total);
    place("run_stop", run.total);
    log.at("eval_accuracy").metadata = "\"epoch_num\": " + std::to_string(run.samples);
    log.at("global_batch_size").value = "64";
    if (!evaluations) log.without("eval_start").without("eval_stop");
    folder.write("Acme/results/" + system + "/bert/result_" + std::to_string(i) + ".txt",
                 log.text());
  }
}

ResultSide side_of(const TemporaryFolder& folder, const std::string& system) {
  ResultSide side =
      read_result_side(folder.path() / "Acme/results" / system, {.ruleset = "5.0.0", .threads = 1});
  side.name = system;
  return side;
}

const Quantity& find(const Comparison& comparison, const std::string& name) {
  for (const Quantity& quantity : comparison.quantities) {
    if (quantity.name == name) return quantity;
  }
  throw std::runtime_error("no quantity " + name);
}

std::vector<RunTimes> ten_runs(RunTimes run) {
  std::vector<RunTimes> runs;
  for (int i = 0; i < 10; ++i) {
    runs.push_back(run);
    run.total += 1;
  }
  return runs;
}

TEST(CompareResults, SaysWhereTheDifferenceComesFrom) {
  const TemporaryFolder folder;
  // 90 s of steps for 900 samples, and 130 s for 1000: 0.1 and 0.13 s per sample.
  write_runs(folder, "a", {{2, 8, 100, 900}});
  write_runs(folder, "b", {{5, 15, 150, 1000}});
  const auto comparisons = compare_results(side_of(folder, "a"), side_of(folder, "b"));
  ASSERT_EQ(comparisons.size(), 1u);
  const Comparison& comparison = comparisons.front();
  ASSERT_EQ(comparison.parts.size(), 4u);
  EXPECT_EQ(comparison.parts[0].name, "start");
  EXPECT_NEAR(comparison.parts[0].seconds, 3, 1e-9);
  EXPECT_EQ(comparison.parts[1].name, "evaluation");
  EXPECT_NEAR(comparison.parts[1].seconds, 7, 1e-9);
  EXPECT_NEAR(comparison.parts[2].seconds, 100 * 0.115, 1e-9) << comparison.parts[2].name;
  EXPECT_NEAR(comparison.parts[3].seconds, 0.03 * 950, 1e-9) << comparison.parts[3].name;
  EXPECT_NEAR(*find(comparison, "time of a step").base.center(), 6400, 1e-6) << "ms, 64 samples";
  EXPECT_NEAR(*find(comparison, "time to train").difference(), 0.5, 1e-9);
  EXPECT_FALSE(find(comparison, "time to train").ratio);
}

TEST(CompareResults, PartsSumToTheDifferenceOfMeans) {
  const TemporaryFolder folder;
  write_runs(folder, "a", {{2, 8, 100, 900}, {3, 9, 130, 1000}, {2.5, 7, 90, 800}});
  write_runs(folder, "b", {{5, 15, 150, 1000}, {4, 12, 170, 1300}}, false);
  const auto comparisons = compare_results(side_of(folder, "a"), side_of(folder, "b"));
  const std::vector<Part>& parts = comparisons.front().parts;
  ASSERT_EQ(parts.size(), 3u) << "one side does not log evaluations";
  const double sum =
      std::accumulate(parts.begin(), parts.end(), 0.0,
                      [](double all, const Part& part) { return all + part.seconds; });
  EXPECT_NEAR(sum, 160 - 320.0 / 3, 1e-9);
}

TEST(CompareResults, TheScoreIsTheOlympicMean) {
  const TemporaryFolder folder;
  std::vector<RunTimes> a = ten_runs({2, 8, 100, 900}), b = ten_runs({2, 8, 200, 900});
  a.front().total = 50;  // neither counts
  b.back().total = 9000;
  write_runs(folder, "a", a);
  write_runs(folder, "b", b);
  const auto comparisons = compare_results(side_of(folder, "a"), side_of(folder, "b"));
  const Quantity score = find(comparisons.front(), "time to train");
  EXPECT_NEAR(*score.base.center(), 104.5 / 60, 1e-9);
  EXPECT_NEAR(*score.other.center(), 204.5 / 60, 1e-9);
  EXPECT_LT(*score.p(), 0.001);
  EXPECT_TRUE(comparisons.front().notes.empty()) << comparisons.front().notes.front();
}

TEST(CompareResults, NotesDifferencesBetweenTheSides) {
  const TemporaryFolder folder;
  std::vector<RunTimes> runs = ten_runs({2, 8, 100, 900});
  write_runs(folder, "a", runs);
  runs.resize(8);
  write_runs(folder, "b", runs);
  folder.write("Acme/results/b/bert/result_3.txt", "no log");
  const auto comparisons = compare_results(side_of(folder, "a"), side_of(folder, "b"));
  std::string all;
  for (const std::string& note : comparisons.front().notes) all += note + '\n';
  EXPECT_THAT(all, HasSubstr("b: 7 of 8 runs count"));
  EXPECT_THAT(all, HasSubstr("b: result_3.txt not counted: "));
  EXPECT_THAT(all, Not(HasSubstr("a: ")));
}

TEST(CompareResults, RefusesOtherTargets) {
  const TemporaryFolder folder;
  write_runs(folder, "a", {{2, 8, 100, 900}});
  const ResultSide a = side_of(folder, "a");
  ResultSide b = a;
  b.name = "b";
  b.folders.at("bert").score.target = 0.33;
  EXPECT_THAT(error_of([&] { compare_results(a, b); }),
              ::testing::HasSubstr("bert is trained to 0.72 in a and to 0.33 in b"));
}

TEST(CompareResults, RefusesSeveralSystemsAndSidesWithoutACommonResult) {
  const TemporaryFolder folder;
  write_runs(folder, "a", {{2, 8, 100, 900}});
  write_runs(folder, "b", {{2, 8, 100, 900}});
  const std::string several = error_of(
      [&] { read_result_side(folder.path() / "Acme", {.ruleset = "5.0.0", .threads = 1}); });
  EXPECT_THAT(several, HasSubstr("several results of bert"));
  ResultSide a = side_of(folder, "a"), b = side_of(folder, "b");
  auto other = b.folders.extract("bert");
  other.key() = "ssd";
  b.folders.insert(std::move(other));
  const std::string apart = error_of([&] { compare_results(a, b); });
  EXPECT_THAT(apart, HasSubstr("no benchmark in common: bert against ssd"));
}

}  // namespace
}  // namespace strata::compare
