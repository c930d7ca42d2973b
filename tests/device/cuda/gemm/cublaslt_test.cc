// Tests the library's functions that are loaded at run time. Functions that need no GPU work, and
// the others report that they need one.

#include <cublasLt.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "device/cuda/gemm/matmul.h"

namespace strata::device::cuda {
namespace {

TEST(CublasLt, IsOfTheVersionThatStrataWasBuiltWith) {
  EXPECT_EQ(cublaslt_version().substr(0, 3), fmt::format("{}.", CUBLAS_VER_MAJOR));
}

TEST(CublasLt, DescribesProductsWithoutAGpu) {
  cublasLtMatmulDesc_t product = nullptr;
  ASSERT_EQ(cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F),
            CUBLAS_STATUS_SUCCESS);
  const auto transpose = [&](size_t bytes) {
    const cublasOperation_t transposed = CUBLAS_OP_T;
    return cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, bytes);
  };
  EXPECT_EQ(transpose(sizeof(cublasOperation_t)), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(transpose(1), CUBLAS_STATUS_INVALID_VALUE);
  cublasLtMatrixLayout_t matrix = nullptr;
  ASSERT_EQ(cublasLtMatrixLayoutCreate(&matrix, CUDA_R_16BF, 4, 8, 4), CUBLAS_STATUS_SUCCESS);
  cublasLtMatmulPreference_t preference = nullptr;
  ASSERT_EQ(cublasLtMatmulPreferenceCreate(&preference), CUBLAS_STATUS_SUCCESS);
  const auto allow = [&](size_t bytes) {
    const uint64_t most = 1024;
    return cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, bytes);
  };
  EXPECT_EQ(allow(sizeof(uint64_t)), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(allow(1), CUBLAS_STATUS_INVALID_VALUE);

  // Uses no handle, because cublasLtCreate needs a GPU.
  cublasLtMatmulHeuristicResult_t result;
  int found = 0;
  EXPECT_EQ(cublasLtMatmulAlgoGetHeuristic(nullptr, product, matrix, matrix, matrix, matrix,
                                           preference, 1, &result, &found),
            CUBLAS_STATUS_NOT_INITIALIZED);
  const cublasLtMatmulAlgo_t algorithm{};
  EXPECT_EQ(cublasLtMatmulAlgoCheck(nullptr, product, matrix, matrix, matrix, matrix, &algorithm,
                                    &result),
            CUBLAS_STATUS_NOT_INITIALIZED);
  const float one = 1;
  EXPECT_EQ(cublasLtMatmul(nullptr, product, &one, nullptr, matrix, nullptr, matrix, &one, nullptr,
                           matrix, nullptr, matrix, &algorithm, nullptr, 0, nullptr),
            CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_STRNE(cublasLtGetStatusString(CUBLAS_STATUS_NOT_INITIALIZED),
               cublasLtGetStatusString(CUBLAS_STATUS_INVALID_VALUE));
  int parts = -1;
  EXPECT_EQ(cublasLtMatmulAlgoConfigGetAttribute(&algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM,
                                                 &parts, sizeof parts, nullptr),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(parts, 0);

  EXPECT_EQ(cublasLtMatmulPreferenceDestroy(preference), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLtMatrixLayoutDestroy(matrix), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLtMatmulDescDestroy(product), CUBLAS_STATUS_SUCCESS);
}

TEST(CublasLt, RefusesToDestroyAMissingHandle) {
  EXPECT_EQ(cublasLtDestroy(nullptr), CUBLAS_STATUS_INVALID_VALUE);
}

}  // namespace
}  // namespace strata::device::cuda
