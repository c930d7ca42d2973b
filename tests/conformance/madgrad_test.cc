#include <gtest/gtest.h>

#include <cmath>

#include "tests/conformance/backends.h"
#include "tests/conformance/update_inputs.h"

namespace strata::device {
namespace {

MadgradUpdate placed_madgrad(const UpdateInputs& state, Bench& bench) {
  MadgradUpdate op;
  op.weights = bench.master_inout("weights", state.weights);
  op.gradients = bench.master(state.gradients);
  op.gradient_sum = bench.master_inout("gradient_sum", state.first_moment);
  op.square_sum = bench.master_inout("square_sum", state.second_moment);
  op.initial_weights = bench.master(state.weights);
  op.learning_rate = bench.in_memory(0.01f);
  op.gradient_weight = bench.in_memory(0.03f);
  op.averaging = 0.3f;
  op.weight_decay = 0.03f;
  op.clip.scale = 0.5f;
  return op;
}

class Madgrad : public ConformanceOf<Operation::kMadgradUpdate> {};

TEST_P(Madgrad, UpdatesWeightsAndSums) { expect_update_conforms(backend(), placed_madgrad); }

// Covers cube roots of all sizes of squared gradients, and of 0.
TEST_P(Madgrad, DividesByTheCubeRootOfSumsOfAnySize) {
  constexpr int kRoots = 130;
  UpdateInputs state(backend(), kRoots);
  for (int i = 0; i < kRoots; ++i) {
    const double root = std::exp2(i / 4.0 - 26);  // 2^-26 to 2^6
    state.second_moment.values[i] = root * root * root;
    state.first_moment.values[i] = root / 8;
    state.gradients.values[i] = 0;
  }
  state.second_moment.values[0] = state.first_moment.values[0] = 0;
  for (HostMatrix* matrix : {&state.first_moment, &state.second_moment}) {
    *matrix = rounded(*matrix, DType::kF32);
  }
  expect_conforms(
      backend(),
      [&](Bench& bench) {
        MadgradUpdate op = placed_madgrad(state, bench);
        op.averaging = 1;  // makes the weights equal to the average
        op.epsilon = 1e-9f;
        issue(bench.backend(), Stream::kCompute, op);
      },
      JudgedBy::kOutputDType);
}

TEST_P(Madgrad, RangesMayBeginAtAnyElement) {
  expect_ranges_to_begin_anywhere(backend(), placed_madgrad,
                                  [](MadgradUpdate& op, const auto& cut) {
                                    cut(op.weights);
                                    cut(op.gradients);
                                    cut(op.gradient_sum);
                                    cut(op.square_sum);
                                    cut(op.initial_weights);
                                  });
}

TEST_P(Madgrad, ComputeWeightsAreTheNewWeightsRounded) {
  if (backend().compute_dtype() == backend().master_dtype()) {
    GTEST_SKIP() << "computes with the master weights themselves";
  }
  expect_update_to_round_compute_weights(backend(), placed_madgrad);
}

INSTANTIATE_TEST_SUITE_P(Backends, Madgrad, testing::ValuesIn(tested_backends()), name_of_backend);

}  // namespace
}  // namespace strata::device
