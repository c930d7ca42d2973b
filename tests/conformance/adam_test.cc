#include <gtest/gtest.h>

#include "tests/conformance/backends.h"
#include "tests/conformance/update_inputs.h"

namespace strata::device {
namespace {

AdamUpdate place(const UpdateInputs& state, Bench& bench) {
  auto weights = bench.master_inout("weights", state.weights);
  auto op = state.place<AdamUpdate>(bench);
  op.weights = weights;
  op.learning_rate = bench.in_memory(0.01f);
  return op;
}

class Adam : public Conformance {};

TEST_P(Adam, UpdatesWeightsAndMoments) {
  for (const int64_t size : {1, 7, 32, 1000, 4099, 40001}) {
    const UpdateInputs state(backend(), size);
    for (const int64_t step : {1, 2, 1000}) {
      for (const double norm_squared : {-1.0, 0.0, 0.25, 1e6}) {
        SCOPED_TRACE(fmt::format("n {}, step {}, norm_squared {}", size, step, norm_squared));
        expect_conforms(
            backend(),
            [&](Bench& bench) {
              AdamUpdate op = place(state, bench);
              op.corrections = bench.in_memory(bias_corrections(op.beta1, op.beta2, step));
              if (norm_squared >= 0) op.clip.norm_squared = bench.scalar(norm_squared);
              op.clip.max_norm = 2.0f;
              bench.backend().adam_update(Stream::kCompute, op);
            },
            JudgedBy::kOutputDType);
      }
    }
  }
}

TEST_P(Adam, StartsFromNothing) {
  UpdateInputs state(backend(), 100);
  state.start_from_nothing();
  expect_conforms(
      backend(),
      [&](Bench& bench) {
        AdamUpdate op = place(state, bench);
        op.weight_decay = 0;
        bench.backend().adam_update(Stream::kCompute, op);
      },
      JudgedBy::kOutputDType);
}

// Shards of a bucket, where ranks shard its update, begin at other multiples than buckets do.
TEST_P(Adam, RangesMayBeginAtAnyElement) {
  constexpr int64_t kSize = 4099;
  const UpdateInputs state(backend(), kSize);
  for (const int64_t begin : {1, 2, 4, 8, 12}) {
    SCOPED_TRACE(begin);
    const auto cut = [&](auto tensor) {
      tensor.data =
          tensor.template as<char>() + begin * static_cast<int64_t>(size_of(tensor.dtype));
      tensor.cols -= begin;
      return tensor;
    };
    expect_conforms(
        backend(),
        [&](Bench& bench) {
          AdamUpdate op = place(state, bench);
          op.weights = cut(op.weights);
          op.gradients = cut(op.gradients);
          op.first_moment = cut(op.first_moment);
          op.second_moment = cut(op.second_moment);
          if (backend().compute_dtype() != backend().master_dtype()) {
            op.compute_weights = cut(bench.compute_inout("compute_weights", state.weights));
          }
          bench.backend().adam_update(Stream::kCompute, op);
        },
        JudgedBy::kOutputDType);
  }
}

TEST_P(Adam, ComputeWeightsAreTheNewWeightsRounded) {
  if (backend().compute_dtype() == backend().master_dtype()) {
    GTEST_SKIP() << "computes with the master weights themselves";
  }
  for (const int64_t size : {1, 37, 4099}) {
    SCOPED_TRACE(size);
    const UpdateInputs state(backend(), size);
    expect_compute_weights_rounded(backend(), state.weights, [&](Bench& bench) {
      AdamUpdate op = place(state, bench);
      op.compute_weights = bench.compute_output("compute_weights", 1, size);
      bench.backend().adam_update(Stream::kCompute, op);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Adam, testing::ValuesIn(tested_backends()), name_of_backend);

}  // namespace
}  // namespace strata::device
