#include "bench/machine/machine_benchmark.h"

#include <algorithm>

#include "base/error.h"
#include "device/registry/backends.h"
#include "tests/support/matchers.h"

namespace strata::bench {
namespace {

const MachineBenchmarkOptions kSmall{
    .models = {"tiny", "tiny"}, .tokens = {64, 100}, .steps = 1, .rounds = 1, .threads = 1};

TEST(MachineBenchmarkTest, MeasuresEveryModelAtEverySize) {
  std::vector<std::string> described;
  const MachineBenchmark b =
      benchmark_machine(kSmall, [&](const std::string& next) { described.push_back(next); });
  ASSERT_EQ(b.steps.size(), 4u);
  for (size_t i = 0; i < b.steps.size(); ++i) {
    EXPECT_EQ(b.steps[i].model, "tiny");
    EXPECT_EQ(b.steps[i].tokens, i % 2 == 0 ? 64 : 100);
    EXPECT_GT(b.steps[i].share(), 0);
    // Other programs can slow down the measurement of the peak. A wrong unit exceeds this bound.
    EXPECT_LT(b.steps[i].share(), 10);
  }
  EXPECT_EQ(std::ranges::count(described, "steps of tiny, 100 tokens"), 2);
  EXPECT_THAT(b.device, HasSubstr("1 thread"));
}

TEST(MachineBenchmarkTest, PeaksAreMeasuredForTheDtypesOfTheProcessor) {
  const MachineBenchmark b = benchmark_machine(kSmall, [](const std::string&) {});
  const bool bf16 = device::find_backend("cpu").bf16_is_native();
  EXPECT_EQ(b.precision, bf16 ? "bf16" : "fp32");
  EXPECT_EQ(b.bf16_matrix_peak.has_value(), bf16);
  EXPECT_GT(b.f32_matrix_peak, 1e9);
  EXPECT_GT(b.copy_peak, 1e8);
}

// Sequences are no longer than the sizes allow.
TEST(MachineBenchmarkTest, AttentionAndOptimizerUseTheFirstModel) {
  const MachineBenchmark b = benchmark_machine(kSmall, [](const std::string&) {});
  EXPECT_EQ(b.attention.length, 64);
  EXPECT_EQ(b.attention.head_size, 32);
  EXPECT_GT(b.attention.forward_share, 0);
  EXPECT_GT(b.attention.backward_share, 0);
  EXPECT_EQ(b.optimizer.model, "tiny");
  EXPECT_DOUBLE_EQ(b.optimizer.share_of(b.optimizer.bytes_per_second / 2), 2);
  EXPECT_DOUBLE_EQ(b.optimizer.share_of_plain(),
                   b.optimizer.bytes_per_second / b.optimizer.plain_bytes_per_second);
  ASSERT_FALSE(b.libraries.empty());
  EXPECT_EQ(b.libraries.front().first, "oneDNN");
}

TEST(MachineBenchmarkTest, RefusesEmptyListsAndMissingModels) {
  const auto ignore = [](const std::string&) {};
  EXPECT_THROW(benchmark_machine({.models = {}}, ignore), Error);
  EXPECT_THROW(benchmark_machine({.tokens = {}}, ignore), Error);
  EXPECT_THROW(benchmark_machine({.models = {"no-such-model.json"}}, ignore), Error);
}

}  // namespace
}  // namespace strata::bench
