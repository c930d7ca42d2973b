#include "report/runs/step_trace.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/compliance/bert_log.h"

namespace strata::report {
namespace {

std::string line(int step, double seconds, double exposed, double communication) {
  return "{\"step\": " + std::to_string(step) + ", \"seconds\": " + std::to_string(seconds) +
         ", \"tokens\": 100, \"data_seconds\": 0.01, \"exposed_communication_seconds\": " +
         std::to_string(exposed) + ", \"communication_seconds\": " + std::to_string(communication) +
         ", \"imbalance\": 1.5}\n";
}

TEST(StepTrace, ReadsOnlyCompleteLines) {
  const StepTrace trace =
      parse_step_trace(line(1, 9, 0, 0) + "{\"step\": 2, \"seco\n" + "[]\n\n" + line(3, 1, 0, 0) +
                       "{\"step\": 4, \"seconds\": 1, \"tok");
  ASSERT_EQ(trace.steps.size(), 2u);
  EXPECT_EQ(trace.steps[1].step, 3);
  EXPECT_EQ(trace.other_lines, 4u);
}

TEST(StepTrace, LinesWithImpossibleNumbersAreIgnored) {
  for (const char* text :
       {R"({"step": 1e300, "seconds": 1})", R"({"step": -1, "seconds": 1})",
        R"({"step": 1, "seconds": -1})", R"({"step": "1", "seconds": 1})", R"({"step": 1})",
        R"({"step": 1, "seconds": 1e999})", R"({"step": 1, "seconds": 1e308})"}) {
    EXPECT_TRUE(parse_step_trace(text).steps.empty()) << text;
  }
  const StepTrace trace =
      parse_step_trace(R"({"step": 1, "seconds": 1, "data_seconds": -5, "tokens": "many"})");
  ASSERT_EQ(trace.steps.size(), 1u);
  EXPECT_EQ(trace.steps[0].data, 0);
  EXPECT_EQ(trace.steps[0].tokens, 0);
}

TEST(StepTrace, IsReadFromTheFileBesideTheLog) {
  const strata::testing::TemporaryFolder folder;
  const auto log = folder.write("result_3.txt", "");
  EXPECT_TRUE(read_step_trace_of(log).steps.empty()) << "there is none";
  folder.write("result_3.steps.jsonl", line(1, 2, 0, 0));
  EXPECT_EQ(read_step_trace_of(log).steps.size(), 1u);
  std::filesystem::remove(folder.path() / "result_3.steps.jsonl");
  std::filesystem::create_directory(folder.path() / "result_3.steps.jsonl");
  EXPECT_THROW(read_step_trace_of(log), Error);
}

TEST(StepPhases, AreMediansWithoutTheFirstStep) {
  const auto phases = phases_of(parse_step_trace(line(1, 100, 50, 50) + line(2, 1, 0.1, 0.4) +
                                                 line(3, 2, 0.2, 0.8) + line(4, 3, 0.3, 1.2))
                                    .steps);
  ASSERT_TRUE(phases);
  EXPECT_DOUBLE_EQ(phases->step, 2);
  EXPECT_DOUBLE_EQ(phases->exposed.value(), 0.2);
  EXPECT_DOUBLE_EQ(phases->data, 0.01);
  EXPECT_DOUBLE_EQ(phases->compute, 2 - 0.2 - 0.01);
  EXPECT_DOUBLE_EQ(phases->hidden_share.value(), 0.75);
  EXPECT_DOUBLE_EQ(phases->tokens_per_second, 300.0 / 6);
  EXPECT_EQ(phases->imbalance, 1.5);
}

TEST(StepPhases, TimesThatWereNotMeasuredAreNotZero) {
  const auto gpu =
      phases_of(parse_step_trace(R"({"step": 1, "seconds": 2, "data_seconds": 0.5})").steps);
  ASSERT_TRUE(gpu);
  EXPECT_EQ(gpu->exposed, std::nullopt);
  EXPECT_EQ(gpu->update, std::nullopt);
  EXPECT_EQ(gpu->hidden_share, std::nullopt);
  EXPECT_DOUBLE_EQ(gpu->compute, 1.5);
  const auto single_rank = phases_of(parse_step_trace(line(1, 2, 0, 0)).steps);
  ASSERT_TRUE(single_rank);
  EXPECT_EQ(single_rank->exposed, 0);
  EXPECT_EQ(single_rank->hidden_share, std::nullopt) << "nothing to hide";
}

TEST(StepPhases, NoStepsHaveNoPhases) {
  EXPECT_FALSE(phases_of({}));
  EXPECT_EQ(phases_of(parse_step_trace(line(1, 4, 0, 0)).steps)->step, 4) << "all there is";
}

}  // namespace
}  // namespace strata::report
