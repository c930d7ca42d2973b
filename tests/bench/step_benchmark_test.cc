#include "bench/step/step_benchmark.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "bert/flops.h"
#include "tests/training/tiny_run.h"

namespace strata::bench {
namespace {

TEST(StepBenchmark, CountsTokensSequencesAndFlopsOfAStep) {
  const auto communicator = comm::make_single_communicator();
  const StepBenchmark result =
      benchmark_steps(training::tiny_run(2), {.steps = 2, .micro_batch_tokens = 300},
                      training::Ranks{*communicator});
  EXPECT_EQ(result.ranks, 1);
  EXPECT_EQ(result.tokens, 300);
  EXPECT_GE(result.sequences, 1);
  // The FLOPs lie between the least and the most that 300 tokens can cost.
  const bert::BertConfig model = bert::load_bert_config("tiny");
  const int32_t one[] = {300};
  EXPECT_LT(result.flops, bert::training_flops(model, one, 46));
  EXPECT_GT(result.flops, 6.0 * 300 * 2 * (4 * 64 * 64 + 2 * 64 * 128));
}

TEST(StepBenchmark, SequencesMayAllBeOfOneLength) {
  const config::RunConfig config = training::tiny_run(3);
  const auto communicator = comm::make_single_communicator();
  const auto lengths = [&](int64_t tokens, int32_t length) {
    const StepBenchmark b = benchmark_steps(
        config, {.steps = 1, .micro_batch_tokens = tokens, .length = length}, {*communicator});
    return b.lengths.at(0);
  };
  EXPECT_EQ(lengths(0, 16), std::vector<int32_t>(3, 16));
  EXPECT_EQ(lengths(100, 16), std::vector<int32_t>(6, 16));
  EXPECT_THROW(lengths(0, 2000), Error);
}

TEST(StepBenchmark, PhasesAreMeasuredAndAddUp) {
  const auto communicator = comm::make_single_communicator();
  const StepBenchmark result =
      benchmark_steps(training::tiny_run(2), {.steps = 3}, training::Ranks{*communicator});
  EXPECT_EQ(result.sequences, 2);
  for (const double seconds : {result.step, result.forward, result.backward, result.update}) {
    EXPECT_GT(seconds, 0);
  }
  EXPECT_LE(result.forward, result.step);
  EXPECT_GT(result.peak_flops_per_second, 0);
  EXPECT_DOUBLE_EQ(result.tokens_per_second(), static_cast<double>(result.tokens) / result.step);
  EXPECT_DOUBLE_EQ(result.flops_per_second(), result.flops / result.step);
}

}  // namespace
}  // namespace strata::bench
