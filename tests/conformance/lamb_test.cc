#include <gtest/gtest.h>

#include "tests/conformance/backends.h"
#include "tests/conformance/update_inputs.h"

namespace strata::device {
namespace {

constexpr int64_t kLambSizes[] = {1, 7, 32, 1000, 4099, 70001};

LambNorms* place(const LambNorms& norms, Bench& bench) {
  return reinterpret_cast<LambNorms*>(
      bench.inout("norms", {1, 2, {norms.weights, norms.direction}}, DType::kF64).data);
}

LambDirection place(const UpdateInputs& state, Bench& bench) {
  auto op = state.place<LambDirection>(bench);
  op.weights = bench.master(state.weights);
  op.norms = place(LambNorms{0.25, 0.5}, bench);
  return op;
}

class Lamb : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    if (!IsSkipped() && !backend().has_lamb()) GTEST_SKIP() << "this backend has no LAMB";
  }
};

TEST_P(Lamb, TheDirectionTakesTheGradientsPlaceAndItsNormIsAddedUp) {
  for (const int64_t size : kLambSizes) {
    const UpdateInputs state(backend(), size);
    for (const int64_t step : {1, 2, 1000}) {
      for (const double norm_squared : {-1.0, 0.0, 0.25, 1e6}) {
        SCOPED_TRACE(fmt::format("n {}, step {}, norm_squared {}", size, step, norm_squared));
        expect_conforms(backend(), [&](Bench& bench) {
          LambDirection op = place(state, bench);
          op.corrections = bench.in_memory(bias_corrections(op.beta1, op.beta2, step));
          if (norm_squared >= 0) op.clip.norm_squared = bench.scalar(norm_squared);
          op.clip.max_norm = 2.0f;
          bench.backend().lamb_direction(Stream::kCompute, op);
        });
      }
    }
  }
}

TEST_P(Lamb, TheDirectionStartsFromNothing) {
  UpdateInputs state(backend(), 100);
  state.start_from_nothing();
  expect_conforms(backend(), [&](Bench& bench) {
    bench.backend().lamb_direction(Stream::kCompute, place(state, bench));
  });
}

// Ranks with different numbers of threads must stay equal.
TEST_P(Lamb, SumsAreTheSameWhateverTheNumberOfThreads) {
  const UpdateInputs state(backend(), 70001);
  const auto with_threads = [&](int threads) {
    BackendOptions options = GetParam();
    options.threads = threads;
    const auto other = make_tested_backend(options);
    return run_on(*other, [&](Bench& bench) {
      bench.backend().lamb_direction(Stream::kCompute, place(state, bench));
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

TEST_P(Lamb, ApplyScalesTheDirectionByTheTrustRatio) {
  for (const int64_t size : kLambSizes) {
    const UpdateInputs state(backend(), size);
    for (const LambNorms norms : {LambNorms{4, 9}, LambNorms{0, 9}, LambNorms{4, 0}}) {
      SCOPED_TRACE(fmt::format("n {}, norms {} and {}", size, norms.weights, norms.direction));
      expect_conforms(
          backend(),
          [&](Bench& bench) {
            LambApply op;
            op.weights = bench.master_inout("weights", state.weights);
            op.directions = bench.master(state.gradients);
            op.norms = place(norms, bench);
            op.learning_rate = bench.in_memory(0.01f);
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
    const UpdateInputs state(backend(), size);
    expect_compute_weights_rounded(backend(), state.weights, [&](Bench& bench) {
      LambApply op;
      op.weights = bench.master_inout("weights", state.weights);
      op.directions = bench.master(state.gradients);
      op.norms = place(LambNorms{4, 9}, bench);
      op.learning_rate = bench.in_memory(0.01f);
      op.compute_weights = bench.compute_output("compute_weights", 1, size);
      bench.backend().lamb_apply(Stream::kCompute, op);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Lamb, testing::ValuesIn(tested_backends()), name_of_backend);

}  // namespace
}  // namespace strata::device
