#include <gtest/gtest.h>

#include "tests/conformance/backends.h"
#include "tests/conformance/bench.h"

namespace strata::device {
namespace {

struct State {
  State(const Backend& backend, int64_t size)
      : inputs(backend, 1),
        weights(inputs.master(1, size, 0.1)),
        gradients(inputs.master(1, size, 4)),
        first_moment(inputs.master(1, size, 0.5)),
        second_moment(inputs.master(1, size, 0.5, 0.5)) {}

  AdamUpdate place(Bench& bench) const {
    AdamUpdate op;
    op.weights = bench.master_inout("weights", weights);
    op.gradients = bench.master_inout("gradients", gradients);
    op.first_moment = bench.master_inout("first_moment", first_moment);
    op.second_moment = bench.master_inout("second_moment", second_moment);
    op.learning_rate = 0.01f;
    op.beta1 = 0.8f;
    op.beta2 = 0.999f;
    op.epsilon = 1e-6f;
    op.weight_decay = 0.03f;
    op.gradient_scale = 0.5f;
    return op;
  }

  Inputs inputs;
  HostMatrix weights, gradients, first_moment, second_moment;
};

class Adam : public Conformance {};

TEST_P(Adam, UpdatesWeightsAndMomentsAndClearsGradients) {
  for (const int64_t size : {1, 7, 32, 1000, 4099}) {
    const State state(backend(), size);
    for (const int64_t step : {1, 2, 1000}) {
      for (const double norm_squared : {-1.0, 0.0, 0.25, 1e6}) {
        SCOPED_TRACE(fmt::format("n {}, step {}, norm_squared {}", size, step, norm_squared));
        expect_conforms(
            backend(),
            [&](Bench& bench) {
              AdamUpdate op = state.place(bench);
              op.step = step;
              if (norm_squared >= 0) op.norm_squared = bench.scalar(norm_squared);
              op.max_norm = 2.0f;
              bench.backend().adam_update(Stream::kCompute, op);
            },
            JudgedBy::kOutputDType);
      }
    }
  }
}

TEST_P(Adam, StartsFromNothing) {
  State state(backend(), 100);
  state.first_moment.values.assign(100, 0.0);
  state.second_moment.values.assign(100, 0.0);
  state.gradients.values[3] = 0;
  expect_conforms(
      backend(),
      [&](Bench& bench) {
        AdamUpdate op = state.place(bench);
        op.weight_decay = 0;
        bench.backend().adam_update(Stream::kCompute, op);
      },
      JudgedBy::kOutputDType);
}

TEST_P(Adam, ComputeWeightsAreTheNewWeightsRounded) {
  if (backend().compute_dtype() == backend().master_dtype()) {
    GTEST_SKIP() << "computes with the master weights themselves";
  }
  for (const int64_t size : {1, 37, 4099}) {
    SCOPED_TRACE(size);
    const State state(backend(), size);
    const auto outputs = run_on(backend(), [&](Bench& bench) {
      AdamUpdate op = state.place(bench);
      op.compute_weights = bench.compute_output("compute_weights", 1, size);
      bench.backend().adam_update(Stream::kCompute, op);
    });
    const Output &weights = outputs.front(), &compute_weights = outputs.back();
    ASSERT_EQ(weights.name, "weights");
    ASSERT_EQ(compute_weights.name, "compute_weights");
    EXPECT_NE(weights.matrix.values, state.weights.values);
    EXPECT_EQ(compute_weights.matrix.values,
              rounded(weights.matrix, backend().compute_dtype()).values);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Adam, testing::ValuesIn(kBackends), name_of_backend);

}  // namespace
}  // namespace strata::device
