// Inputs of the optimizers' operations: weights, gradients and moments [n].
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

  // Sets the state before the first step, with a gradient of zero among the others. Requires size >
  // 3.
  void start_from_nothing() {
    first_moment.values.assign(first_moment.values.size(), 0.0);
    second_moment.values.assign(second_moment.values.size(), 0.0);
    gradients.values[3] = 0;
  }

  // Returns an AdamUpdate or a LambDirection without its weights.
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

// Checks an update that needs no sums over tensors. `place(state, bench)` makes it.
template <typename Place>
void expect_update_conforms(Backend& backend, const Place& place) {
  for (const int64_t size : {1, 7, 32, 1000, 4099, 40001}) {
    const UpdateInputs state(backend, size);
    for (const double norm_squared : {-1.0, 0.0, 0.25, 1e6}) {
      SCOPED_TRACE(fmt::format("n {}, norm_squared {}", size, norm_squared));
      expect_conforms(
          backend,
          [&](Bench& bench) {
            auto op = place(state, bench);
            if (norm_squared >= 0) op.clip.norm_squared = bench.scalar(norm_squared);
            op.clip.max_norm = 2.0f;
            issue(bench.backend(), Stream::kCompute, op);
          },
          JudgedBy::kOutputDType);
    }
  }
}

// Sharded updates of a bucket may begin at other multiples than buckets do. `each_tensor(op, cut)`
// must call `cut` on every tensor of the operation.
template <typename Place, typename EachTensor>
void expect_ranges_to_begin_anywhere(Backend& backend, const Place& place,
                                     const EachTensor& each_tensor) {
  constexpr int64_t kSize = 4099;
  const UpdateInputs state(backend, kSize);
  for (const int64_t begin : {1, 2, 4, 8, 12}) {
    SCOPED_TRACE(begin);
    const auto cut = [&](auto& tensor) {
      tensor.data =
          tensor.template as<char>() + begin * static_cast<int64_t>(size_of(tensor.dtype));
      tensor.cols -= begin;
    };
    expect_conforms(
        backend,
        [&](Bench& bench) {
          auto op = place(state, bench);
          if (backend.compute_dtype() != backend.master_dtype()) {
            op.compute_weights = bench.compute_inout("compute_weights", state.weights);
            cut(op.compute_weights);
          }
          each_tensor(op, cut);
          issue(bench.backend(), Stream::kCompute, op);
        },
        JudgedBy::kOutputDType);
  }
}

// Runs `operation`, whose outputs are "weights" first and "compute_weights" last.
inline void expect_compute_weights_rounded(Backend& backend, const HostMatrix& old_weights,
                                           const OperationCall& operation) {
  const auto outputs = run_on(backend, operation);
  const Output &weights = outputs.front(), &compute_weights = outputs.back();
  ASSERT_EQ(weights.name, "weights");
  ASSERT_EQ(compute_weights.name, "compute_weights");
  EXPECT_NE(weights.matrix.values, old_weights.values);
  EXPECT_EQ(compute_weights.matrix.values, rounded(weights.matrix, backend.compute_dtype()).values);
}

template <typename Place>
void expect_update_to_round_compute_weights(Backend& backend, const Place& place) {
  for (const int64_t size : {1, 37, 4099}) {
    SCOPED_TRACE(size);
    const UpdateInputs state(backend, size);
    expect_compute_weights_rounded(backend, state.weights, [&](Bench& bench) {
      auto op = place(state, bench);
      op.compute_weights = bench.compute_output("compute_weights", 1, size);
      issue(bench.backend(), Stream::kCompute, op);
    });
  }
}

}  // namespace strata::device
