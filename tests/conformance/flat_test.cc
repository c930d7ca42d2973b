#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>
#include <vector>

#include "tests/conformance/backends.h"
#include "tests/conformance/bench.h"
#include "tests/support/compilers_float16.h"

namespace strata::device {
namespace {

constexpr int64_t kSizes[] = {1, 7, 32, 1000, 4099, 70001};

// Operations over flat ranges only round their output.
class Flat : public Conformance {
 protected:
  // Dtypes of gradients and weights in memory, in computation and on the network.
  std::set<DType> dtypes() {
    return {DType::kF32, DType::kBF16, DType::kF16, backend().compute_dtype(),
            backend().master_dtype()};
  }
  // Gradients are not converted from one 16-bit type to the other.
  static bool converts(DType from, DType to) {
    return from == to || size_of(from) != 2 || size_of(to) != 2;
  }
};

TEST_P(Flat, ConvertScalesAndRounds) {
  for (const DType from : dtypes()) {
    for (const DType to : dtypes()) {
      if (!converts(from, to)) continue;
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
  for (const DType to : {DType::kBF16, DType::kF16}) {
    const auto outputs = run_on(backend(), [&](Bench& bench) {
      bench.backend().convert(Stream::kCompute, {bench.input(source, DType::kF32), 1.0f,
                                                 bench.output("rounded", to, 1, 4099)});
    });
    EXPECT_EQ(outputs[0].matrix.values, rounded(source, to).values) << name_of(to);
  }
}

// Covers neighbours of every number, values halfway between two, and values too small or too large.
// The compiler's own binary16 is the oracle.
TEST_P(Flat, ConvertRoundsToF16AsTheCompilerDoes) {
  std::vector<float> values;
  for (uint32_t word = 0; word < 0xff000000u; word += 65537) {
    const float value = std::bit_cast<float>(word);
    if (std::isfinite(value)) values.push_back(value);
  }
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const double number = from_float16(static_cast<uint16_t>(bits));
    const double next = from_float16(static_cast<uint16_t>(bits + 1));
    if (std::isfinite(next)) values.push_back(static_cast<float>((number + next) / 2));
  }
  for (const float value : {65504.0f, 65519.99f, 65520.0f, 65536.0f, 1e30f, 0x1p-25f, 0x1.01p-25f})
    values.insert(values.end(), {value, -value});
  const auto size = std::ssize(values);
  const HostMatrix source{1, size, std::vector<double>(values.begin(), values.end())};
  const auto outputs = run_on(backend(), [&](Bench& bench) {
    bench.backend().convert(Stream::kCompute, {bench.input(source, DType::kF32), 1.0f,
                                               bench.output("f16", DType::kF16, 1, size)});
  });
  for (size_t i = 0; i < values.size(); ++i) {
    const auto expected = static_cast<double>(static_cast<CompilersFloat16>(values[i]));
    ASSERT_EQ(outputs[0].matrix.values[i], expected) << values[i];
  }
}

TEST_P(Flat, ConvertFromF16IsExactAndKeepsInfinitiesAndNaNs) {
  HostMatrix source{1, 1 << 16, {}};
  for (uint32_t bits = 0; bits < 1 << 16; ++bits) {
    source.values.push_back(from_float16(static_cast<uint16_t>(bits)));
  }
  const auto outputs = run_on(backend(), [&](Bench& bench) {
    bench.backend().convert(Stream::kCompute, {bench.input(source, DType::kF16), 1.0f,
                                               bench.output("f32", DType::kF32, 1, 1 << 16)});
  });
  for (uint32_t bits = 0; bits < 1 << 16; ++bits) {
    const auto expected =
        static_cast<double>(std::bit_cast<CompilersFloat16>(static_cast<uint16_t>(bits)));
    const double got = outputs[0].matrix.values[bits];
    ASSERT_TRUE(got == expected || (std::isnan(got) && std::isnan(expected))) << bits;
  }
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
  for (const DType dtype : {backend().master_dtype(), DType::kBF16, DType::kF16}) {
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

// Compared with the first element's square, every other one is less than half a unit in a float's
// last place.
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
