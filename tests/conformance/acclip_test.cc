#include <gtest/gtest.h>

#include "tests/conformance/backends.h"
#include "tests/conformance/update_inputs.h"

namespace strata::device {
namespace {

AcClipUpdate placed_acclip(const UpdateInputs& state, Bench& bench) {
  AcClipUpdate op;
  op.weights = bench.master_inout("weights", state.weights);
  op.gradients = bench.master(state.gradients);
  op.first_moment = bench.master_inout("first_moment", state.first_moment);
  op.threshold_power = bench.master_inout("threshold_power", state.second_moment);
  op.learning_rate = bench.in_memory(0.1f);
  op.beta1 = 0.8f;
  op.weight_decay = 0.03f;
  op.clip.scale = 0.5f;
  return op;
}

class AcClip : public ConformanceOf<Operation::kAcClipUpdate> {};

TEST_P(AcClip, UpdatesWeightsAndState) {
  for (const float alpha : {1.0f, 1.25f, 2.0f}) {
    SCOPED_TRACE(alpha);
    const auto with_alpha = [&](const UpdateInputs& state, Bench& bench) {
      AcClipUpdate op = placed_acclip(state, bench);
      op.alpha = alpha;
      return op;
    };
    expect_update_conforms(backend(), with_alpha);
  }
}

TEST_P(AcClip, FirstStepStartsFromZeroState) {
  UpdateInputs state(backend(), 100);
  state.start_from_nothing();
  expect_conforms(
      backend(),
      [&](Bench& bench) { issue(bench.backend(), Stream::kCompute, placed_acclip(state, bench)); },
      JudgedBy::kOutputDType);
}

TEST_P(AcClip, RangesMayBeginAtAnyElement) {
  expect_ranges_to_begin_anywhere(backend(), placed_acclip, [](AcClipUpdate& op, const auto& cut) {
    cut(op.weights);
    cut(op.gradients);
    cut(op.first_moment);
    cut(op.threshold_power);
  });
}

TEST_P(AcClip, ComputeWeightsAreTheNewWeightsRounded) {
  if (backend().compute_dtype() == backend().master_dtype()) {
    GTEST_SKIP() << "computes with the master weights themselves";
  }
  expect_update_to_round_compute_weights(backend(), placed_acclip);
}

INSTANTIATE_TEST_SUITE_P(Backends, AcClip, testing::ValuesIn(tested_backends()), name_of_backend);

}  // namespace
}  // namespace strata::device
