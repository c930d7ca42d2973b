#include "plan/published/published_run.h"

#include <cmath>
#include <string>
#include <vector>

#include "tests/compliance/bert_log.h"
#include "tests/support/matchers.h"

namespace strata::plan {
namespace {

using ::strata::testing::BertLog;

// An evaluation's seconds since run_start and its epoch_num.
struct End {
  double seconds;
  double epoch_num;
};

BertLog log_of(const std::vector<End>& ends, int batch, double train_samples = 0) {
  BertLog log = BertLog::passing();
  log.set("global_batch_size", std::to_string(batch));
  log.set("train_samples", std::to_string(train_samples));
  log.without("eval_accuracy").without("run_stop").without("block_stop").without("block_start");
  const double start = log.at("run_start").time_ms;
  for (const End& end : ends) {
    log.append({"eval_accuracy", "0.5", "\"epoch_num\": " + std::to_string(end.epoch_num),
                start + 1000 * end.seconds});
  }
  log.append({"run_stop", "null", R"("status": "success")", start + 1000 * 99});
  return log;
}

PublishedRun read(const BertLog& log) {
  return read_published_run(mllog::LogReader::from_text(log.text(), "run.txt"));
}

TEST(PublishedRun, CountsSamplesByEvaluations) {
  const PublishedRun run = read(log_of({{10, 1000}, {19, 2000}, {30, 3000}}, 100));
  ASSERT_EQ(run.problem, "");
  EXPECT_EQ(run.batch, 100);
  EXPECT_EQ(run.seconds, 99);
  ASSERT_EQ(run.evaluations.size(), 3u);
  EXPECT_EQ(run.evaluations[1].seconds, 19);
  EXPECT_EQ(run.evaluations[1].samples, 2000);
  EXPECT_EQ(run.samples(), 3000);
}

TEST(PublishedRun, CountsSamplesByTheIntervalIfEvaluationsDoNot) {
  // Batch 3072 evaluates every 175,000 samples: first after 57 steps, third after 171.
  const PublishedRun run = read(log_of({{10, 1}, {19, 1}, {30, 1}}, 3072, 171 * 3072));
  ASSERT_EQ(run.problem, "");
  EXPECT_EQ(run.evaluations[0].samples, 57 * 3072);
  EXPECT_EQ(run.samples(), 171 * 3072);
  // This log lacks the first two evaluations.
  const PublishedRun late = read(log_of({{10, 1}, {19, 1}, {30, 1}}, 3072, 285 * 3072));
  EXPECT_EQ(late.evaluations[0].samples, 171 * 3072);
  EXPECT_EQ(late.samples(), 285 * 3072);
}

TEST(PublishedRun, SpreadsSamplesEvenlyIfTheIntervalDoesNotFit) {
  const PublishedRun run = read(log_of({{10, 1}, {19, 1}, {30, 1}}, 100, 60'000));
  ASSERT_EQ(run.problem, "");
  EXPECT_EQ(run.evaluations[0].samples, 20'000);
  EXPECT_EQ(run.samples(), 60'000);
}

TEST(PublishedRun, EvaluationsAreSortedByTime) {
  const PublishedRun run = read(log_of({{30, 3000}, {10, 1000}, {20, 2000}}, 100));
  // epoch_num does not rise in the log's order, but it does in time.
  ASSERT_EQ(run.problem, "");
  EXPECT_EQ(run.evaluations[0].seconds, 10);
  EXPECT_EQ(run.evaluations[2].samples, 3000);
}

TEST(PublishedRun, TimeBetweenBlocksCountsAsEvaluation) {
  BertLog log = log_of({{10, 1000}, {20, 2000}, {30, 3000}}, 100);
  const double start = log.at("run_start").time_ms;
  log.without("run_stop");
  for (const double at : {9.0, 19.0, 29.0}) {
    log.append({"block_stop", "null", R"("first_epoch_num": 1)", start + 1000 * at});
    log.append({"block_start", "null", R"("first_epoch_num": 1)", start + 1000 * (at + 0.75)});
  }
  log.append({"run_stop", "null", R"("status": "success")", start + 1000 * 99});
  const PublishedRun run = read(log);
  ASSERT_TRUE(run.evaluation_seconds.has_value());
  EXPECT_NEAR(*run.evaluation_seconds, 0.75, 1e-9);
}

TEST(PublishedRun, AnUnusableRunHasAReason) {
  const std::vector<End> ends = {{10, 1000}, {20, 2000}, {30, 3000}};
  const auto problem = [](BertLog log) { return read(log).problem; };
  EXPECT_EQ(problem(log_of(ends, 100).without("run_start")), "run_start is not logged");
  EXPECT_EQ(problem(log_of(ends, 100).without("run_stop")), "run_stop does not say success");
  EXPECT_THAT(problem(log_of(ends, 100).set("global_batch_size", "\"many\"")),
              HasSubstr("global_batch"));
  EXPECT_THAT(problem(log_of(ends, 0)), HasSubstr("global_batch_size is 0"));
  EXPECT_THAT(problem(log_of(ends, 100).set("gradient_accumulation_steps", "0")),
              HasSubstr("gradient_accumulation_steps is 0"));
  EXPECT_THAT(problem(log_of({{10, 1000}}, 100)), HasSubstr("1 evaluation"));
  EXPECT_THAT(problem(log_of({{10, 1}, {10, 1}, {10, 1}}, 100, 60'000)), HasSubstr("not in order"));
  EXPECT_THAT(read_published_run(std::filesystem::path("/absent.txt")).problem,
              HasSubstr("/absent.txt"));
}

}  // namespace
}  // namespace strata::plan
