#include <gtest/gtest.h>

#include <set>

#include "tests/conformance/backends.h"
#include "tests/conformance/bench.h"

namespace strata::device {
namespace {

constexpr int64_t kSizes[] = {1, 7, 32, 1000, 4099, 70001};

// Operations over flat ranges round their output and nothing else.
class Flat : public Conformance {
 protected:
  // What gradients and weights are kept, computed with and sent over the network in.
  std::set<DType> dtypes() {
    return {DType::kF32, DType::kBF16, backend().compute_dtype(), backend().master_dtype()};
  }
};

TEST_P(Flat, ConvertScalesAndRounds) {
  for (const DType from : dtypes()) {
    for (const DType to : dtypes()) {
      for (const int64_t size : kSizes) {
        for (const float scale : {1.0f, 0.37f}) {
          SCOPED_TRACE(
              fmt::format("{} to {}, n {}, scale {}", name_of(from), name_of(to), size, scale));
          const HostMatrix source = Inputs(backend(), 1).of(from, 1, size);
          expect_conforms(
              backend(),
              [&](Bench& bench) {
                bench.backend().convert(
                    Stream::kCompute,
                    {bench.input(source, from), scale, bench.output("destination", to, 1, size)});
              },
              JudgedBy::kOutputDType);
        }
      }
    }
  }
}

TEST_P(Flat, ConvertAloneRoundsToTheNearest) {
  const HostMatrix source = Inputs(backend(), 2).of(DType::kF32, 1, 4099);
  const auto outputs = run_on(backend(), [&](Bench& bench) {
    bench.backend().convert(Stream::kCompute, {bench.input(source, DType::kF32), 1.0f,
                                               bench.output("bf16", DType::kBF16, 1, 4099)});
  });
  EXPECT_EQ(outputs[0].matrix.values, rounded(source, DType::kBF16).values);
}

TEST_P(Flat, ConvertWorksInPlace) {
  const HostMatrix source = Inputs(backend(), 3).master(1, 4099);
  expect_conforms(
      backend(),
      [&](Bench& bench) {
        const Tensor x = bench.master_inout("x", source);
        bench.backend().convert(Stream::kCompute, {x, 0.25f, x});
      },
      JudgedBy::kOutputDType);
}

TEST_P(Flat, L2NormSquaredAddsUp) {
  for (const DType dtype : {backend().master_dtype(), DType::kBF16}) {
    for (const int64_t size : kSizes) {
      SCOPED_TRACE(fmt::format("{}, n {}", name_of(dtype), size));
      const HostMatrix x = Inputs(backend(), 4).of(dtype, 1, size);
      expect_conforms(backend(), [&](Bench& bench) {
        bench.backend().l2_norm_squared(
            Stream::kCompute, {bench.input(x, dtype), bench.scalar_inout("norm_squared", 0.125)});
      });
    }
  }
}

// Beside the first element's square every other one is less than half a unit in a float's last
// place.
TEST_P(Flat, L2NormSquaredAccumulatesInDouble) {
  HostMatrix x{1, 100000, std::vector<double>(100000, 0.5)};
  for (int i = 0; i < 64; ++i) x.values[i] = 4096;
  const auto outputs = run_on(backend(), [&](Bench& bench) {
    bench.backend().l2_norm_squared(Stream::kCompute,
                                    {bench.master(x), bench.scalar_inout("norm_squared", 0)});
  });
  EXPECT_DOUBLE_EQ(outputs[0].matrix.values[0], 64 * 4096.0 * 4096 + (100000 - 64) * 0.25);
}

TEST_P(Flat, ClipToNormMayWriteElsewhereInAnotherDType) {
  for (const int64_t size : kSizes) {
    const HostMatrix x = Inputs(backend(), 5).master(1, size);
    for (const double norm_squared : {0.25, 4.0}) {
      SCOPED_TRACE(fmt::format("n {}, norm_squared {}", size, norm_squared));
      expect_conforms(
          backend(),
          [&](Bench& bench) {
            bench.backend().clip_to_norm(
                Stream::kCompute, {bench.master_inout("x", x), bench.scalar(norm_squared), 1.5f,
                                   bench.compute_output("destination", 1, size)});
          },
          JudgedBy::kOutputDType);
    }
  }
}

TEST_P(Flat, ClipToNormScalesDownAndNeverUp) {
  for (const int64_t size : kSizes) {
    const HostMatrix x = Inputs(backend(), 5).master(1, size);
    for (const double norm_squared : {0.0, 0.25, 4.0, 1e12}) {
      SCOPED_TRACE(fmt::format("n {}, norm_squared {}", size, norm_squared));
      expect_conforms(
          backend(),
          [&](Bench& bench) {
            bench.backend().clip_to_norm(
                Stream::kCompute, {bench.master_inout("x", x), bench.scalar(norm_squared), 1.5f});
          },
          JudgedBy::kOutputDType);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Flat, testing::ValuesIn(tested_backends()), name_of_backend);

}  // namespace
}  // namespace strata::device
