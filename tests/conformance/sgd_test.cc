#include <gtest/gtest.h>

#include "tests/conformance/backends.h"
#include "tests/conformance/update_inputs.h"

namespace strata::device {
namespace {

SgdUpdate placed_sgd(const UpdateInputs& state, Bench& bench) {
  SgdUpdate op;
  op.weights = bench.master_inout("weights", state.weights);
  op.gradients = bench.master(state.gradients);
  op.velocity = bench.master_inout("velocity", state.first_moment);
  op.learning_rate = bench.in_memory(0.1f);
  op.momentum = 0.8f;
  op.weight_decay = 0.03f;
  op.clip.scale = 0.5f;
  return op;
}

class Sgd : public ConformanceOf<Operation::kSgdUpdate> {};

TEST_P(Sgd, UpdatesWeightsAndVelocity) { expect_update_conforms(backend(), placed_sgd); }

TEST_P(Sgd, FirstStepStartsFromZeroState) {
  UpdateInputs state(backend(), 100);
  state.start_from_nothing();
  expect_conforms(
      backend(),
      [&](Bench& bench) { issue(bench.backend(), Stream::kCompute, placed_sgd(state, bench)); },
      JudgedBy::kOutputDType);
}

TEST_P(Sgd, RangesMayBeginAtAnyElement) {
  expect_ranges_to_begin_anywhere(backend(), placed_sgd, [](SgdUpdate& op, const auto& cut) {
    cut(op.weights);
    cut(op.gradients);
    cut(op.velocity);
  });
}

TEST_P(Sgd, ComputeWeightsAreTheNewWeightsRounded) {
  if (backend().compute_dtype() == backend().master_dtype()) {
    GTEST_SKIP() << "computes with the master weights themselves";
  }
  expect_update_to_round_compute_weights(backend(), placed_sgd);
}

INSTANTIATE_TEST_SUITE_P(Backends, Sgd, testing::ValuesIn(tested_backends()), name_of_backend);

}  // namespace
}  // namespace strata::device
