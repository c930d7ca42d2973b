// Tests that results cached for one GEMM are right for later ones.
#include "device/cuda/gemm/matmul.h"

#include <cublasLt.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "device/cuda/cuda_backend.h"
#include "device/cuda/host/kernel_choices.h"
#include "device/memory/buffer.h"

namespace strata::device::cuda {
namespace {

// Small integers, whose products and sums are exact.
BFloat16 number(int64_t i, int64_t j) {
  return BFloat16(static_cast<float>((i * 7 + j * 3) % 5 - 2));
}

struct Product {
  int64_t rows, out, in;
  int64_t shift;  // offset of x from aligned memory
};

void expect_exact(Backend& backend, const Product& p) {
  Buffer x(backend, static_cast<size_t>(p.rows * p.in + p.shift) * sizeof(BFloat16)),
      weight(backend, static_cast<size_t>(p.out * p.in) * sizeof(BFloat16)),
      bias(backend, static_cast<size_t>(p.out) * sizeof(BFloat16)),
      y(backend, static_cast<size_t>(p.rows * p.out) * sizeof(BFloat16));
  auto* of_x = x.as<BFloat16>() + p.shift;
  for (int64_t i = 0; i < p.rows * p.in; ++i) of_x[i] = number(i / p.in, i % p.in);
  for (int64_t i = 0; i < p.out * p.in; ++i) weight.as<BFloat16>()[i] = number(i % p.in, i / p.in);
  for (int64_t i = 0; i < p.out; ++i) bias.as<BFloat16>()[i] = number(i, 1);
  LinearForward op;
  op.x = ConstTensor(of_x, DType::kBF16, p.rows, p.in);
  op.weight = ConstTensor(weight.data(), DType::kBF16, p.out, p.in);
  op.bias = ConstTensor(bias.data(), DType::kBF16, 1, p.out);
  op.y = {y.data(), DType::kBF16, p.rows, p.out};
  backend.linear_forward(Stream::kCompute, op);
  for (int64_t row = 0; row < p.rows; ++row) {
    for (int64_t column = 0; column < p.out; ++column) {
      auto sum = static_cast<float>(number(column, 1));
      for (int64_t i = 0; i < p.in; ++i) {
        sum += static_cast<float>(number(row, i)) * static_cast<float>(number(i, column));
      }
      ASSERT_EQ(static_cast<float>(y.as<BFloat16>()[row * p.out + column]),
                static_cast<float>(BFloat16(sum)))
          << p.rows << " x " << p.out << " x " << p.in << ", shift " << p.shift;
    }
  }
}

TEST(Matmul, TheFastestAlgorithmIsReusedForSimilarNumbersOfRows) {
  for (const int64_t in : {32, 40, 64}) {
    const auto backend = make_cuda_backend(DType::kBF16, 0);
    for (const int64_t out : {8, 16, 24, 40, 48, 72}) {
      for (int64_t rows = 24; rows > 0; --rows) expect_exact(*backend, {rows, out, in, 0});
    }
  }
}

TEST(Matmul, AlignedProductsMayBecomeMisaligned) {
  const auto backend = make_cuda_backend(DType::kBF16, 0);
  for (const int64_t shift : {0, 1, 8, 2, 4, 0}) expect_exact(*backend, {6, 16, 64, shift});
}

TEST(Matmul, TermsBeyondAMultipleOf64Count) {
  const auto backend = make_cuda_backend(DType::kBF16, 0);
  for (int64_t in = 60; in <= 140; ++in) expect_exact(*backend, {3, 8, in, 0});
}

// Sets the emulated times of GEMMs.
class MatmulChoice : public testing::Test {
 protected:
  static constexpr int64_t kMostRows = 2048, kOut = 8, kIn = 16;
  static constexpr uint64_t kUnit = 1'000'000;  // ticks; clocks and kernels take few of them

  void TearDown() override { emulated_cuda::gemm_ticks = nullptr; }

  static MatmulCall weight_gradient(int64_t rows) {
    static std::vector<BFloat16> dy(kMostRows * kOut), x(kMostRows * kIn);
    static std::vector<float> d_weight(kOut * kIn);
    return {.transpose_a = true,
            .m = kOut,
            .n = kIn,
            .k = rows,
            .a = dy.data(),
            .lda = kOut,
            .b = x.data(),
            .ldb = kIn,
            .c = d_weight.data(),
            .ldc = kIn,
            .input_dtype = DType::kBF16,
            .output_dtype = DType::kF32};
  }
  // Returns the algorithm of a weight gradient over `rows` rows.
  static emulated_cuda::Gemm algorithm_for(Matmul& matmul, int64_t rows) {
    matmul(weight_gradient(rows));
    return emulated_cuda::last_gemm;
  }
  // Sets the times of the algorithms that do not split k, in cuBLASLt's order. Algorithms that
  // split k take much longer.
  static void set_times(std::array<uint64_t, 3> hundredths) {
    emulated_cuda::gemm_ticks = [=](const emulated_cuda::Gemm& gemm) {
      return (gemm.parts > 1 ? 1000 : hundredths.at(static_cast<size_t>(gemm.variant))) * kUnit;
    };
  }
  static int32_t variant_of(std::array<uint64_t, 3> hundredths) {
    set_times(hundredths);
    Matmul matmul(nullptr, {});
    return algorithm_for(matmul, 128).variant;
  }
};

TEST_F(MatmulChoice, WithoutMemoryForTrialsTheFirstAlgorithmIsUsed) {
  set_times({100, 50, 99});
  Matmul matmul(nullptr, {});
  emulated_cuda::failing_allocations = 1;
  EXPECT_EQ(algorithm_for(matmul, 128).variant, 0);
  EXPECT_EQ(emulated_cuda::failing_allocations, 0);
  EXPECT_EQ(algorithm_for(matmul, 192).variant, 1) << "a later GEMM of the neighbourhood decides";
}

TEST_F(MatmulChoice, KeepsCublasltsOrderUnlessAnotherAlgorithmIsClearlyFaster) {
  EXPECT_EQ(variant_of({100, 98, 99}), 0);
  EXPECT_EQ(variant_of({100, 96, 99}), 1);
  EXPECT_EQ(variant_of({100, 90, 89}), 1);
  EXPECT_EQ(variant_of({100, 95, 80}), 2);
}

// For 65 rows, algorithms that split them into several parts must not be used, because they could
// omit the last row.
TEST_F(MatmulChoice, DoesNotDependOnTheNumberOfRowsThatCameFirst) {
  emulated_cuda::gemm_ticks = [](const emulated_cuda::Gemm& gemm) {
    return gemm.parts > 1 ? kUnit : (9 - static_cast<uint64_t>(gemm.variant)) * kUnit;
  };
  for (const int64_t first : {1000, 1024, 577, 65}) {
    Matmul matmul(nullptr, {});
    algorithm_for(matmul, first);
    EXPECT_EQ(algorithm_for(matmul, 640).parts, 17) << first;
    EXPECT_EQ(algorithm_for(matmul, 600).parts, 17) << "24 rows are left, in " << first;
    EXPECT_EQ(algorithm_for(matmul, 577).parts, 1) << first;
    EXPECT_EQ(algorithm_for(matmul, 577).variant, 2) << "the fastest of one part, " << first;
  }
}

TEST_F(MatmulChoice, HasAnEpilogueWhereThatIsClearlyFaster) {
  const auto has_epilogue = [](uint64_t with_epilogue) {
    emulated_cuda::gemm_ticks = [=](const emulated_cuda::Gemm& gemm) {
      return (gemm.has_epilogue ? with_epilogue : 100) * kUnit;
    };
    std::vector<float> sums(kOut);
    Matmul matmul(nullptr, {});
    return matmul(weight_gradient(128),
                  {.kind = MatmulEpilogue::Kind::kColumnSums, .column_sums = sums.data()},
                  [&](const MatmulCall& call, const MatmulEpilogue&) { matmul(call); });
  };
  EXPECT_TRUE(has_epilogue(90));
  EXPECT_FALSE(has_epilogue(98));
  EXPECT_FALSE(has_epilogue(101));
}

// cuBLASLt is not asked for algorithms during graph capture, even if many other GEMMs came after
// the captured one ran.
TEST_F(MatmulChoice, KeepsTheFirstPlansSoThatGraphsCanBeCapturedLater) {
  emulated_cuda::gemm_ticks = [](const emulated_cuda::Gemm&) { return kUnit; };
  Matmul matmul(nullptr, {});
  std::vector<float> a(64 * 64), b(64 * 64), c(64 * 64);
  const auto multiply = [&](int64_t m, int64_t n, int64_t k) {
    matmul({.m = m,
            .n = n,
            .k = k,
            .a = a.data(),
            .lda = 64,
            .b = b.data(),
            .ldb = 64,
            .c = c.data(),
            .ldc = 64});
  };
  for (int64_t k = 1; k <= 12; ++k) {
    for (int64_t n = 1; n <= 40; ++n) {
      for (int64_t m = 1; m <= 45; ++m) multiply(m, n, k);
    }
  }
  cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeThreadLocal);
  EXPECT_NO_THROW(multiply(1, 1, 1));
  EXPECT_NO_THROW(multiply(45, 40, 8));
  cudaGraph_t graph = nullptr;
  cudaStreamEndCapture(nullptr, &graph);
  EXPECT_EQ(graph->size(), 2u);
  cudaGraphDestroy(graph);
}

TEST_F(MatmulChoice, LimitsGemmsToTheGivenMultiprocessors) {
  for (const int multiprocessors : {0, 116}) {
    Matmul matmul(nullptr, {.multiprocessors = multiprocessors});
    EXPECT_EQ(algorithm_for(matmul, 128).multiprocessors, multiprocessors);
  }
  EXPECT_EQ(kernel_choices({}).communication_multiprocessors, 0);
  const KernelChoices choices = kernel_choices({{"communication_multiprocessors", "1"}});
  EXPECT_EQ(choices.communication_multiprocessors, 1);
  // The emulated GPU has only one multiprocessor.
  EXPECT_THROW(make_cuda_backend(DType::kBF16, 0, choices), Error);
}

}  // namespace
}  // namespace strata::device::cuda
