// cuBLASLt's functions under their own names: each forwards to the library, which the first call
// loads. Tests link the emulated GPU instead of this file.

#include <cublasLt.h>
#include <fmt/format.h>

#include "device/cuda/host/shared_library.h"

namespace {

// Returns the library's function of that name, with the type of `declared`.
template <typename Function>
Function* find(const char* name, Function* /*declared*/) {
  // Tries the name that a linker would have recorded, then the path at build time.
  static const strata::device::cuda::SharedLibrary library(
      {fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR), STRATA_CUBLASLT},
      "GEMMs on GPUs need cuBLASLt");
  Function* function = nullptr;
  library.find(function, name);
  return function;
}

}  // namespace

const char* cublasLtGetStatusString(cublasStatus_t status) {
  static const auto function = find("cublasLtGetStatusString", cublasLtGetStatusString);
  return function(status);
}

size_t cublasLtGetVersion() {
  static const auto function = find("cublasLtGetVersion", cublasLtGetVersion);
  return function();
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  static const auto function = find("cublasLtCreate", cublasLtCreate);
  return function(handle);
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  static const auto function = find("cublasLtDestroy", cublasLtDestroy);
  return function(handle);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t description,
                              const void* alpha, const void* a, cublasLtMatrixLayout_t a_layout,
                              const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                              const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              size_t workspace_bytes, cudaStream_t stream) {
  static const auto function = find("cublasLtMatmul", cublasLtMatmul);
  return function(handle, description, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d,
                  d_layout, algorithm, workspace, workspace_bytes, stream);
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t description,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t* algorithm,
                                       cublasLtMatmulHeuristicResult_t* result) {
  static const auto function = find("cublasLtMatmulAlgoCheck", cublasLtMatmulAlgoCheck);
  return function(handle, description, a, b, c, d, algorithm, result);
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute,
                                                    void* value, size_t bytes, size_t* written) {
  static const auto function =
      find("cublasLtMatmulAlgoConfigGetAttribute", cublasLtMatmulAlgoConfigGetAttribute);
  return function(algorithm, attribute, value, bytes, written);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle,
                                              cublasLtMatmulDesc_t description,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int most,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* found) {
  static const auto function =
      find("cublasLtMatmulAlgoGetHeuristic", cublasLtMatmulAlgoGetHeuristic);
  return function(handle, description, a, b, c, d, preference, most, results, found);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* description,
                                        cublasComputeType_t compute_type,
                                        cudaDataType_t scale_type) {
  static const auto function = find("cublasLtMatmulDescCreate", cublasLtMatmulDescCreate);
  return function(description, compute_type, scale_type);
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  static const auto function = find("cublasLtMatmulDescDestroy", cublasLtMatmulDescDestroy);
  return function(description);
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t bytes) {
  static const auto function =
      find("cublasLtMatmulDescSetAttribute", cublasLtMatmulDescSetAttribute);
  return function(description, attribute, value, bytes);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  static const auto function =
      find("cublasLtMatmulPreferenceCreate", cublasLtMatmulPreferenceCreate);
  return function(preference);
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  static const auto function =
      find("cublasLtMatmulPreferenceDestroy", cublasLtMatmulPreferenceDestroy);
  return function(preference);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, size_t bytes) {
  static const auto function =
      find("cublasLtMatmulPreferenceSetAttribute", cublasLtMatmulPreferenceSetAttribute);
  return function(preference, attribute, value, bytes);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t stride) {
  static const auto function = find("cublasLtMatrixLayoutCreate", cublasLtMatrixLayoutCreate);
  return function(layout, type, rows, columns, stride);
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  static const auto function = find("cublasLtMatrixLayoutDestroy", cublasLtMatrixLayoutDestroy);
  return function(layout);
}
