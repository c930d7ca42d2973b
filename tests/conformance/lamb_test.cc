#include <gtest/gtest.h>

#include "tests/conformance/backends.h"
#include "tests/conformance/bench.h"

namespace strata::device {
namespace {

constexpr int64_t kSizes[] = {1, 7, 32, 1000, 4099, 70001};

struct State {
  State(const Backend& backend, int64_t size)
      : inputs(backend, 1),
        weights(inputs.master(1, size, 0.1)),
        gradients(inputs.master(1, size, 4)),
        first_moment(inputs.master(1, size, 0.5)),
        second_moment(inputs.master(1, size, 0.5, 0.5)) {}

  LambDirection place(Bench& bench) const {
    LambDirection op;
    op.weights = bench.master(weights);
    op.gradients = bench.master_inout("gradients", gradients);
    op.first_moment = bench.master_inout("first_moment", first_moment);
    op.second_moment = bench.master_inout("second_moment", second_moment);
    op.beta1 = 0.8f;
    op.beta2 = 0.999f;
    op.epsilon = 1e-6f;
    op.weight_decay = 0.03f;
    op.gradient_scale = 0.5f;
    op.norms = place_norms(bench, {0.25, 0.5});
    return op;
  }

  static LambNorms* place_norms(Bench& bench, const LambNorms& norms) {
    return reinterpret_cast<LambNorms*>(
        bench.inout("norms", {1, 2, {norms.weights, norms.direction}}, DType::kF64).data);
  }

  Inputs inputs;
  HostMatrix weights, gradients, first_moment, second_moment;
};

class Lamb : public Conformance {};

TEST_P(Lamb, TheDirectionTakesTheGradientsPlaceAndItsNormIsAddedUp) {
  for (const int64_t size : kSizes) {
    const State state(backend(), size);
    for (const int64_t step : {1, 2, 1000}) {
      for (const double norm_squared : {-1.0, 0.0, 0.25, 1e6}) {
        SCOPED_TRACE(fmt::format("n {}, step {}, norm_squared {}", size, step, norm_squared));
        expect_conforms(backend(), [&](Bench& bench) {
          LambDirection op = state.place(bench);
          op.step = step;
          if (norm_squared >= 0) op.norm_squared = bench.scalar(norm_squared);
          op.max_norm = 2.0f;
          bench.backend().lamb_direction(Stream::kCompute, op);
        });
      }
    }
  }
}

TEST_P(Lamb, TheDirectionStartsFromNothing) {
  State state(backend(), 100);
  state.first_moment.values.assign(100, 0.0);
  state.second_moment.values.assign(100, 0.0);
  state.gradients.values[3] = 0;
  expect_conforms(backend(), [&](Bench& bench) {
    bench.backend().lamb_direction(Stream::kCompute, state.place(bench));
  });
}

// Ranks with different numbers of threads must stay equal.
TEST_P(Lamb, SumsAreTheSameWhateverTheNumberOfThreads) {
  const State state(backend(), 70001);
  const auto with_threads = [&](int threads) {
    BackendOptions options = GetParam();
    options.threads = threads;
    const auto other = make_backend(options);
    return run_on(*other, [&](Bench& bench) {
      bench.backend().lamb_direction(Stream::kCompute, state.place(bench));
    });
  };
  const auto one = with_threads(1);
  for (const int threads : {2, 3, 5}) {
    const auto several = with_threads(threads);
    for (size_t i = 0; i < one.size(); ++i) {
      EXPECT_TRUE(one[i].bytes == several[i].bytes) << one[i].name << ", " << threads;
    }
  }
}

TEST_P(Lamb, ApplyScalesTheDirectionByTheTrustRatioAndClearsIt) {
  for (const int64_t size : kSizes) {
    const State state(backend(), size);
    for (const LambNorms norms : {LambNorms{4, 9}, LambNorms{0, 9}, LambNorms{4, 0}}) {
      SCOPED_TRACE(fmt::format("n {}, norms {} and {}", size, norms.weights, norms.direction));
      expect_conforms(
          backend(),
          [&](Bench& bench) {
            LambApply op;
            op.weights = bench.master_inout("weights", state.weights);
            op.directions = bench.master_inout("directions", state.gradients);
            op.norms = State::place_norms(bench, norms);
            op.learning_rate = 0.01f;
            bench.backend().lamb_apply(Stream::kCompute, op);
          },
          JudgedBy::kOutputDType);
    }
  }
}

TEST_P(Lamb, ComputeWeightsAreTheNewWeightsRounded) {
  if (backend().compute_dtype() == backend().master_dtype()) {
    GTEST_SKIP() << "computes with the master weights themselves";
  }
  for (const int64_t size : {1, 37, 4099}) {
    SCOPED_TRACE(size);
    const State state(backend(), size);
    const auto outputs = run_on(backend(), [&](Bench& bench) {
      LambApply op;
      op.weights = bench.master_inout("weights", state.weights);
      op.directions = bench.master_inout("directions", state.gradients);
      op.norms = State::place_norms(bench, {4, 9});
      op.learning_rate = 0.01f;
      op.compute_weights = bench.compute_output("compute_weights", 1, size);
      bench.backend().lamb_apply(Stream::kCompute, op);
    });
    const Output &weights = outputs.front(), &compute_weights = outputs.back();
    ASSERT_EQ(weights.name, "weights");
    ASSERT_EQ(compute_weights.name, "compute_weights");
    EXPECT_NE(weights.matrix.values, state.weights.values);
    EXPECT_EQ(compute_weights.matrix.values,
              rounded(weights.matrix, backend().compute_dtype()).values);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Lamb, testing::ValuesIn(kBackends), name_of_backend);

}  // namespace
}  // namespace strata::device
