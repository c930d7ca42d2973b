// What the optimizers' operations are judged on: weights, gradients and moments [n].
#pragma once

#include <gtest/gtest.h>

#include <type_traits>

#include "tests/conformance/bench.h"

namespace strata::device {

struct UpdateInputs {
  UpdateInputs(const Backend& backend, int64_t size)
      : inputs(backend, 1),
        weights(inputs.master(1, size, 0.1)),
        gradients(inputs.master(1, size, 4)),
        first_moment(inputs.master(1, size, 0.5)),
        second_moment(inputs.master(1, size, 0.5, 0.5)) {}

  // As before the first step, with a gradient of zero among the others. size > 3.
  void start_from_nothing() {
    first_moment.values.assign(first_moment.values.size(), 0.0);
    second_moment.values.assign(second_moment.values.size(), 0.0);
    gradients.values[3] = 0;
  }

  // AdamUpdate or LambDirection, but for the weights.
  template <typename Op>
  Op place(Bench& bench) const {
    Op op;
    if constexpr (std::is_same_v<Op, LambDirection>) {
      op.gradients = bench.master_inout("gradients", gradients);
    } else {
      op.gradients = bench.master(gradients);
    }
    op.first_moment = bench.master_inout("first_moment", first_moment);
    op.second_moment = bench.master_inout("second_moment", second_moment);
    op.beta1 = 0.8f;
    op.beta2 = 0.999f;
    op.epsilon = 1e-6f;
    op.weight_decay = 0.03f;
    op.clip.scale = 0.5f;
    return op;
  }

  Inputs inputs;
  HostMatrix weights, gradients, first_moment, second_moment;
};

// Runs `operation`, which writes the outputs "weights", first, and "compute_weights", last.
inline void expect_compute_weights_rounded(Backend& backend, const HostMatrix& old_weights,
                                           const Operation& operation) {
  const auto outputs = run_on(backend, operation);
  const Output &weights = outputs.front(), &compute_weights = outputs.back();
  ASSERT_EQ(weights.name, "weights");
  ASSERT_EQ(compute_weights.name, "compute_weights");
  EXPECT_NE(weights.matrix.values, old_weights.values);
  EXPECT_EQ(compute_weights.matrix.values, rounded(weights.matrix, backend.compute_dtype()).values);
}

}  // namespace strata::device
