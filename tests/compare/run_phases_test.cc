#include "compare/run_phases.h"

#include <gtest/gtest.h>

#include "tests/compliance/bert_log.h"

namespace strata::compare {
namespace {

using mllog::LogReader;
using ::strata::testing::BertLog;
using ::strata::testing::LogEvent;

// Seconds since an arbitrary moment.
LogEvent event(std::string key, double seconds) {
  return {std::move(key), "null", "", 1'700'000'000'000 + 1000 * seconds};
}
std::optional<RunPhases> phases_of(const std::vector<LogEvent>& events) {
  BertLog log;
  log.events = events;
  return read_phases(LogReader::from_text(log.text(), "log"));
}

TEST(RunPhasesTest, SplitsTheTimeOfARun) {
  const auto phases =
      phases_of({event("init_start", 0), event("run_start", 10), event("block_start", 12),
                 event("epoch_start", 13), event("eval_start", 40), event("eval_stop", 45),
                 event("eval_start", 80), event("eval_stop", 83), event("run_stop", 84),
                 event("eval_start", 90), event("eval_stop", 95), event("run_stop", 99)});
  ASSERT_TRUE(phases);
  EXPECT_DOUBLE_EQ(phases->total, 74);
  EXPECT_DOUBLE_EQ(phases->start, 2);
  EXPECT_DOUBLE_EQ(phases->evaluation.value(), 8);
  EXPECT_DOUBLE_EQ(phases->training(), 64);
}

TEST(RunPhasesTest, LeavesOutPhasesWithoutEvents) {
  const auto phases =
      phases_of({event("run_start", 10), event("eval_accuracy", 40), event("run_stop", 84)});
  ASSERT_TRUE(phases);
  EXPECT_EQ(phases->start, 0);
  EXPECT_FALSE(phases->evaluation);
  EXPECT_DOUBLE_EQ(phases->training(), 74);
}

TEST(RunPhasesTest, DescribesTheLastRun) {
  const auto phases =
      phases_of({event("run_start", 10), event("eval_start", 15), event("eval_stop", 18),
                 event("run_start", 20), event("epoch_start", 21), event("run_stop", 50)});
  ASSERT_TRUE(phases);
  EXPECT_DOUBLE_EQ(phases->total, 30);
  EXPECT_DOUBLE_EQ(phases->start, 1);
  EXPECT_FALSE(phases->evaluation);
}

TEST(RunPhasesTest, IsEmptyWithoutAnEndOrABeginning) {
  EXPECT_FALSE(phases_of({event("run_start", 10), event("eval_start", 11)}));
  EXPECT_FALSE(phases_of({event("run_stop", 10)}));
}

}  // namespace
}  // namespace strata::compare
