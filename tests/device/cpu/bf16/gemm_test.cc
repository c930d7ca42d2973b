#include "device/cpu/bf16/gemm.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <random>
#include <vector>

#include "device/cpu/kernels/table.h"

namespace strata::device::cpu {
namespace {

float number(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
uint16_t bits_of(float value) {
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
}

// Fills the gaps between a matrix's rows, so that reading them would spoil the product.
constexpr uint16_t kNaN = 0x7fc0;

// A matrix in memory with rows `stride` apart.
struct Matrix {
  int64_t rows, columns, stride;
  std::vector<uint16_t> numbers;

  Matrix(int64_t r, int64_t c, int64_t s, std::mt19937& random)
      : rows(r), columns(c), stride(s), numbers(static_cast<size_t>(r * s), kNaN) {
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) at(i, j) = bits_of(uniform(random));
    }
  }
  uint16_t& at(int64_t i, int64_t j) { return numbers[static_cast<size_t>(i * stride + j)]; }
  double value(int64_t i, int64_t j) const {
    return number(numbers[static_cast<size_t>(i * stride + j)]);
  }
};

struct Case {
  bool transpose_a, transpose_b;
  int64_t m, n, k;
  bool bias = false, accumulate = false, f32 = false;
  int threads = 1;

  std::string text() const {
    return fmt::format("[{}, {}] x [{}, {}]{}{}{}{}{}, {} threads", m, k, k, n,
                       transpose_a ? ", a^T" : "", transpose_b ? ", b^T" : "", bias ? ", bias" : "",
                       accumulate ? ", accumulates" : "", f32 ? ", to f32" : "", threads);
  }
};

class Bf16Gemm : public testing::Test {
 protected:
  void SetUp() override {
    if (!multiplies_bf16_pairs()) GTEST_SKIP() << "a processor without bf16 instructions";
  }

  // Compares c with its value in f64. Rows of c are followed by a guard.
  void expect_the_product(const Case& test) {
    SCOPED_TRACE(test.text());
    const auto even = [](int64_t columns) { return columns + columns % 2 + 2; };
    const int64_t a_columns = test.transpose_a ? test.m : test.k,
                  b_columns = test.transpose_b ? test.k : test.n;
    Matrix a(test.transpose_a ? test.k : test.m, a_columns, even(a_columns), random_);
    Matrix b(test.transpose_b ? test.n : test.k, b_columns, b_columns + 3, random_);
    Matrix bias(1, test.n, test.n, random_);
    Matrix before(test.m, test.n, test.n + 5, random_);
    std::vector<float> sums(before.numbers.size());
    for (size_t i = 0; i < sums.size(); ++i) sums[i] = number(before.numbers[i]);
    Matrix after = before;
    const MatmulCall call{.transpose_a = test.transpose_a,
                          .transpose_b = test.transpose_b,
                          .m = test.m,
                          .n = test.n,
                          .k = test.k,
                          .a = a.numbers.data(),
                          .lda = a.stride,
                          .b = b.numbers.data(),
                          .ldb = b.stride,
                          .c = test.f32 ? static_cast<void*>(sums.data()) : after.numbers.data(),
                          .ldc = after.stride,
                          .bias = test.bias ? bias.numbers.data() : nullptr,
                          .accumulate = test.accumulate,
                          .input_dtype = DType::kBF16,
                          .output_dtype = test.f32 ? DType::kF32 : DType::kBF16};
    ASSERT_TRUE(bf16_gemm_takes(call));
    // Every element is reported once.
    std::vector<int> told(static_cast<size_t>(test.m * test.n));
    std::mutex mutex;
    const auto tell = [&](int64_t row, int64_t rows, int64_t column, int64_t columns) {
      const std::lock_guard lock(mutex);
      for (int64_t i = row; i < row + rows; ++i) {
        for (int64_t j = column; j < column + columns; ++j) {
          ++told[static_cast<size_t>(i * test.n + j)];
        }
      }
    };
    const bool sums_columns = test.transpose_a && test.f32;
    std::vector<float> column_sums(static_cast<size_t>(test.m) + 1, 0.5f);
    bf16_gemm(call, test.threads, {tell}, sums_columns ? column_sums.data() : nullptr);
    for (int64_t i = 0; sums_columns && i < test.m; ++i) {
      double wanted = test.accumulate ? 0.5 : 0, size = wanted;
      for (int64_t l = 0; l < test.k; ++l) {
        wanted += a.value(l, i);
        size += std::abs(a.value(l, i));
      }
      EXPECT_NEAR(column_sums[static_cast<size_t>(i)], wanted,
                  size * 6e-8 * std::sqrt(double(test.k) + 9))
          << "column " << i;
    }
    EXPECT_EQ(column_sums.back(), 0.5f);
    double most = 0;
    for (int64_t i = 0; i < test.m; ++i) {
      for (int64_t j = 0; j < after.stride; ++j) {
        const auto place = static_cast<size_t>(i * after.stride + j);
        if (j >= test.n) {
          EXPECT_EQ(test.f32 ? std::isnan(sums[place]) : after.numbers[place] == kNaN, true)
              << "behind row " << i;
          continue;
        }
        double wanted = test.bias ? bias.value(0, j) : test.accumulate ? before.value(i, j) : 0;
        double size = std::abs(wanted);
        for (int64_t l = 0; l < test.k; ++l) {
          const double term = (test.transpose_a ? a.value(l, i) : a.value(i, l)) *
                              (test.transpose_b ? b.value(j, l) : b.value(l, j));
          wanted += term;
          size += std::abs(term);
        }
        const double found = test.f32 ? sums[place] : after.value(i, j);
        // Half a unit of bf16, and the rounding error of f32 sums of this length.
        const double allowed =
            (test.f32 ? 0 : std::abs(wanted) / 256) + size * 6e-8 * std::sqrt(double(test.k) + 9);
        most = std::max(most, std::abs(found - wanted) / allowed);
        EXPECT_EQ(told[static_cast<size_t>(i * test.n + j)], 1) << i << ", " << j;
      }
    }
    EXPECT_LE(most, 1);
  }

  std::mt19937 random_{1};
};

TEST_F(Bf16Gemm, MatchesTheProductInDouble) {
  for (const bool transpose_b : {false, true}) {
    for (const bool transpose_a : {false, true}) {
      for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{
               {1, 1, 2}, {6, 64, 32}, {7, 16, 30}, {13, 65, 34}, {97, 130, 66}, {100, 47, 2}}) {
        expect_the_product({transpose_a, transpose_b, m, n, k});
        expect_the_product({transpose_a, transpose_b, m, n, k, true});
        expect_the_product({transpose_a, transpose_b, m, n, k, false, true});
        expect_the_product({transpose_a, transpose_b, m, n, k, false, true, true, 3});
        expect_the_product({transpose_a, transpose_b, m, n, k, true, false, true, 2});
      }
    }
    // An odd k, whose last pair contains a zero.
    expect_the_product({true, transpose_b, 20, 35, 1, false, false, true});
    expect_the_product({true, transpose_b, 20, 35, 47, false, true, true, 2});
  }
}

TEST_F(Bf16Gemm, LongSumsAreRoundedOnce) {
  for (const bool accumulate : {false, true}) {
    expect_the_product({false, false, 5, 20, 4096, false, accumulate});
    expect_the_product({false, true, 5, 20, 9000, false, accumulate, false, 2});
    expect_the_product({true, false, 7, 33, 4099, false, accumulate, true, 2});
  }
  expect_the_product({false, true, 3, 65, 5000, true});
}

// Enough rows that their transpose is packed in several blocks, the last one smaller.
TEST_F(Bf16Gemm, ManyRowsOfATransposeArePackedInBlocks) {
  for (const int threads : {1, 2}) {
    for (const int64_t m : {1056, 1057, 2117}) {
      expect_the_product({true, false, m, 70, 33, false, true, true, threads});
    }
    expect_the_product({true, true, 1300, 20, 4200, false, false, true, threads});
  }
}

TEST_F(Bf16Gemm, BitsDoNotDependOnThreads) {
  constexpr int64_t kM = 1250, kN = 70, kK = 130;
  for (const bool transpose_a : {false, true}) {
    Matrix a(transpose_a ? kK : kM, transpose_a ? kM : kK, transpose_a ? kM : kK, random_);
    Matrix b(kN, kK, kK, random_);
    std::vector<std::vector<float>> results;
    for (const int threads : {1, 2, 5}) {
      std::vector<float>& c = results.emplace_back(kM * kN);
      bf16_gemm({.transpose_a = transpose_a,
                 .transpose_b = true,
                 .m = kM,
                 .n = kN,
                 .k = kK,
                 .a = a.numbers.data(),
                 .lda = a.stride,
                 .b = b.numbers.data(),
                 .ldb = kK,
                 .c = c.data(),
                 .ldc = kN,
                 .input_dtype = DType::kBF16},
                threads);
    }
    EXPECT_EQ(results[1], results[0]);
    EXPECT_EQ(results[2], results[0]);
  }
}

TEST_F(Bf16Gemm, RefusesMatricesThatItCannotReadInPairs) {
  MatmulCall call{
      .m = 4, .n = 4, .k = 4, .lda = 4, .ldb = 4, .ldc = 4, .input_dtype = DType::kBF16};
  EXPECT_TRUE(bf16_gemm_takes(call));
  call.k = 3;
  EXPECT_FALSE(bf16_gemm_takes(call)) << "an odd row in place";
  call.transpose_a = true;
  EXPECT_TRUE(bf16_gemm_takes(call));
  call.transpose_a = false;
  call.k = 4;
  call.lda = 5;
  EXPECT_FALSE(bf16_gemm_takes(call)) << "rows that begin inside a pair";
  call.lda = 4;
  call.input_dtype = DType::kF32;
  EXPECT_FALSE(bf16_gemm_takes(call));
}

}  // namespace
}  // namespace strata::device::cpu
