#include <gtest/gtest.h>

#include "tests/conformance/backends.h"
#include "tests/conformance/update_inputs.h"

namespace strata::device {
namespace {

AdamUpdate placed_adam(const UpdateInputs& state, Bench& bench) {
  auto weights = bench.master_inout("weights", state.weights);
  auto op = state.place<AdamUpdate>(bench);
  op.weights = weights;
  op.learning_rate = bench.in_memory(0.01f);
  return op;
}

class Adam : public Conformance {};

TEST_P(Adam, UpdatesWeightsAndMoments) {
  for (const int64_t step : {1, 2, 1000}) {
    SCOPED_TRACE(step);
    const auto at_step = [&](const UpdateInputs& state, Bench& bench) {
      AdamUpdate op = placed_adam(state, bench);
      op.corrections = bench.in_memory(bias_corrections(op.beta1, op.beta2, step));
      return op;
    };
    expect_update_conforms(backend(), at_step);
  }
}

TEST_P(Adam, FirstStepStartsFromZeroState) {
  UpdateInputs state(backend(), 100);
  state.start_from_nothing();
  expect_conforms(
      backend(),
      [&](Bench& bench) {
        AdamUpdate op = placed_adam(state, bench);
        op.weight_decay = 0;
        bench.backend().adam_update(Stream::kCompute, op);
      },
      JudgedBy::kOutputDType);
}

TEST_P(Adam, RangesMayBeginAtAnyElement) {
  expect_ranges_to_begin_anywhere(backend(), placed_adam, [](AdamUpdate& op, const auto& cut) {
    cut(op.weights);
    cut(op.gradients);
    cut(op.first_moment);
    cut(op.second_moment);
  });
}

TEST_P(Adam, ComputeWeightsAreTheNewWeightsRounded) {
  if (backend().compute_dtype() == backend().master_dtype()) {
    GTEST_SKIP() << "computes with the master weights themselves";
  }
  expect_update_to_round_compute_weights(backend(), placed_adam);
}

INSTANTIATE_TEST_SUITE_P(Backends, Adam, testing::ValuesIn(tested_backends()), name_of_backend);

}  // namespace
}  // namespace strata::device
