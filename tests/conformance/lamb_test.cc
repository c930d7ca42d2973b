#include <gtest/gtest.h>

#include <numeric>
#include <vector>

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

class Lamb : public ConformanceOf<Operation::kLambDirection> {};

TEST_P(Lamb, TheDirectionReplacesTheGradientAndItsNormIsSummed) {
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

TEST_P(Lamb, TheFirstDirectionStartsFromZeroState) {
  UpdateInputs state(backend(), 100);
  state.start_from_nothing();
  expect_conforms(backend(), [&](Bench& bench) {
    bench.backend().lamb_direction(Stream::kCompute, place(state, bench));
  });
}

// Ranks with different numbers of threads must keep equal weights.
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

// Consecutive tensors of a range. Every third does not decay, and the last one was begun in an
// earlier range.
struct RangeOfTensors {
  explicit RangeOfTensors(std::vector<int64_t> sizes_) : sizes(std::move(sizes_)) {}
  int64_t total() const { return std::accumulate(sizes.begin(), sizes.end(), int64_t{0}); }
  static bool decays(size_t tensor) { return tensor % 3 != 1; }
  std::vector<LambPart> parts(LambNorms* norms) const {
    std::vector<LambPart> parts;
    for (size_t i = 0; i < sizes.size(); ++i) {
      parts.push_back({sizes[i], decays(i) ? norms + i : nullptr, i + 1 < sizes.size()});
    }
    return parts;
  }
  std::vector<int64_t> sizes;
};

std::vector<RangeOfTensors> ranges_of_tensors() {
  std::vector<int64_t> many;
  for (int64_t i = 0; i < 150; ++i) many.push_back(i % 7 == 0 ? 4096 + i : 4 * i + 1);
  return {RangeOfTensors({1000}), RangeOfTensors({4099, 7, 1, 8192, 2, 70001, 128, 64, 32}),
          RangeOfTensors({4, 8, 4096, 16}), RangeOfTensors(many)};
}

TEST_P(Lamb, DirectionsOfManyTensorsMatchThoseOfSingleTensors) {
  for (const RangeOfTensors& range : ranges_of_tensors()) {
    const UpdateInputs state(backend(), range.total());
    for (const int64_t begin : {0, 1, 4}) {
      SCOPED_TRACE(fmt::format("{} tensors from {} on", range.sizes.size(), begin));
      const auto directions = [&](Bench& bench) {
        const auto all = state.place<LambDirection>(bench);
        std::vector<double> norms(2 * range.sizes.size(), 3.0);
        const auto count = static_cast<int64_t>(norms.size());
        auto parts = range.parts(reinterpret_cast<LambNorms*>(
            bench.inout("norms", {1, count, norms}, DType::kF64).data));
        parts.front().size -= begin;
        const Range taken{begin, range.total()};
        LambDirections op;
        op.directions = elements_of(all.gradients, taken);
        op.adam.weights = elements_of(bench.master_inout("weights", state.weights), taken);
        if (backend().compute_dtype() != backend().master_dtype()) {
          op.adam.compute_weights =
              elements_of(bench.compute_inout("compute_weights", state.weights), taken);
        }
        op.adam.gradients = op.directions;
        op.adam.first_moment = elements_of(all.first_moment, taken);
        op.adam.second_moment = elements_of(all.second_moment, taken);
        op.adam.learning_rate = bench.in_memory(0.01f);
        op.adam.corrections = bench.in_memory(bias_corrections(all.beta1, all.beta2, 2));
        op.adam.beta1 = all.beta1;
        op.adam.beta2 = all.beta2;
        op.adam.epsilon = all.epsilon;
        op.adam.weight_decay = all.weight_decay;
        op.adam.clip = all.clip;
        op.parts = parts;
        bench.backend().lamb_directions(Stream::kCompute, op);
      };
      expect_conforms(backend(), directions);
    }
  }
}

TEST_P(Lamb, ManyTensorsAreUpdatedEachByItsTrustRatio) {
  for (const RangeOfTensors& range : ranges_of_tensors()) {
    const UpdateInputs state(backend(), range.total());
    for (const int64_t begin : {0, 1, 4}) {
      SCOPED_TRACE(fmt::format("{} tensors from {} on", range.sizes.size(), begin));
      expect_conforms(backend(), [&](Bench& bench) {
        std::vector<double> norms;
        for (size_t i = 0; i < 2 * range.sizes.size(); ++i) {
          norms.push_back(static_cast<double>(i % 11));
        }
        const auto count = static_cast<int64_t>(norms.size());
        auto parts = range.parts(reinterpret_cast<LambNorms*>(
            bench.inout("norms", {1, count, norms}, DType::kF64).data));
        parts.front().size -= begin;
        const Range taken{begin, range.total()};
        const ConstTensor all = bench.master(state.gradients);
        LambApplies op;
        op.weights = elements_of(bench.master_inout("weights", state.weights), taken);
        if (backend().compute_dtype() != backend().master_dtype()) {
          op.compute_weights =
              elements_of(bench.compute_inout("compute_weights", state.weights), taken);
        }
        op.directions =
            ConstTensor(all.as<char>() + begin * static_cast<int64_t>(size_of(all.dtype)),
                        all.dtype, 1, taken.size());
        op.parts = parts;
        op.learning_rate = bench.in_memory(0.01f);
        bench.backend().lamb_applies(Stream::kCompute, op);
      });
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
