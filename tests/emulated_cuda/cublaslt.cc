// GEMMs according to cuBLASLt's manual: column-major, with its requirements on descriptions. Some
// of its algorithms are unsuitable, are refused, or lose terms.
#include <cublasLt.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "device/operations/dtype.h"
#include "device/operations/float8.h"
#include "device/plain/activation.h"

using emulated_cuda::require;
using strata::device::Activation;
using strata::device::BFloat16;
using strata::device::Float16;

struct EmulatedCublas {};

struct EmulatedProduct {
  cublasOperation_t a = CUBLAS_OP_N, b = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void* bias = nullptr;
  std::optional<cudaDataType_t> bias_type;  // absent: same as d
  void* aux = nullptr;
  int64_t aux_stride = 0;
  int8_t fast_accumulation = 0;
  const float* a_scale = nullptr;
  const float* b_scale = nullptr;
  int32_t multiprocessors = 0;

  bool operator==(const EmulatedProduct&) const = default;
};

struct EmulatedLayout {
  cudaDataType_t type;
  int64_t rows, columns, stride;

  bool operator==(const EmulatedLayout&) const = default;
};

struct EmulatedPreference {
  size_t workspace = 0;
  uint32_t reductions = 7;
  uint32_t alignments[4] = {256, 256, 256, 256};  // alignments of a, b, c, d
};

namespace {

constexpr int64_t kBlock = 64;

template <typename Value>
cublasStatus_t take(Value& value, const void* bytes, size_t size) {
  if (size != sizeof value) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&value, bytes, size);
  return CUBLAS_STATUS_SUCCESS;
}

bool is_float8(cudaDataType_t type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }

float element(const void* matrix, cudaDataType_t type, int64_t i) {
  using namespace strata::device;
  switch (type) {
    case CUDA_R_32F:
      return static_cast<const float*>(matrix)[i];
    case CUDA_R_16BF:
      return static_cast<float>(static_cast<const BFloat16*>(matrix)[i]);
    case CUDA_R_16F:
      return static_cast<float>(static_cast<const Float16*>(matrix)[i]);
    case CUDA_R_8F_E4M3:
      return from_float8<E4M3>(static_cast<const uint8_t*>(matrix)[i]);
    case CUDA_R_8F_E5M2:
      return from_float8<E5M2>(static_cast<const uint8_t*>(matrix)[i]);
  }
  return 0;
}

void set(void* matrix, cudaDataType_t type, int64_t i, double value) {
  if (type == CUDA_R_16BF) {
    static_cast<BFloat16*>(matrix)[i] = BFloat16(static_cast<float>(value));
  } else if (type == CUDA_R_16F) {
    static_cast<Float16*>(matrix)[i] = Float16(static_cast<float>(value));
  } else {
    static_cast<float*>(matrix)[i] = static_cast<float>(value);
  }
}

// A GEMM with its matrices: d = op(a) op(b), [rows, columns], and c in d's memory.
struct Described {
  EmulatedProduct product;
  EmulatedLayout a, b, d;

  bool operator==(const Described&) const = default;
  int64_t rows() const { return d.rows; }
  int64_t columns() const { return d.columns; }
  int64_t terms() const { return product.a == CUBLAS_OP_N ? a.columns : a.rows; }
  bool in_float8() const { return is_float8(a.type) || is_float8(b.type); }
  bool has(int part) const { return (product.epilogue & part) != 0; }

  bool is_consistent() const {
    const bool a_transposed = product.a == CUBLAS_OP_T, b_transposed = product.b == CUBLAS_OP_T;
    return a.stride >= a.rows && b.stride >= b.rows && d.stride >= d.rows &&
           (a_transposed ? a.columns : a.rows) == d.rows &&
           (b_transposed ? b.rows : b.columns) == d.columns &&
           (b_transposed ? b.columns : b.rows) == terms() &&
           (!has(128) ||
            (product.aux && product.aux_stride % 8 == 0 && product.aux_stride >= d.rows)) &&
           (!(has(CUBLASLT_EPILOGUE_BIAS) || has(CUBLASLT_EPILOGUE_BGRADB)) || product.bias);
  }
  // FP8 requires a transposed a, b not transposed, not both E5M2, multiples of 16 everywhere, and
  // scales.
  bool is_supported() const {
    if (!in_float8()) return a.type == b.type;
    const auto sixteens = [](auto... values) { return ((values % 16 == 0) && ...); };
    return is_float8(a.type) && is_float8(b.type) &&
           (a.type == CUDA_R_8F_E4M3 || b.type == CUDA_R_8F_E4M3) && product.a == CUBLAS_OP_T &&
           product.b == CUBLAS_OP_N && product.a_scale && product.b_scale &&
           (product.epilogue == CUBLASLT_EPILOGUE_DEFAULT ||
            product.epilogue == CUBLASLT_EPILOGUE_BIAS) &&
           (!product.bias || product.bias_type == CUDA_R_16BF) &&
           sixteens(rows(), columns(), terms(), a.stride, b.stride, d.stride);
  }
};

// Returns op(x) of [outer, terms], or its transpose with `inner_first`: row by row, with contiguous
// terms.
std::vector<float> gathered(const void* x, const EmulatedLayout& layout, bool inner_first,
                            int64_t outer, int64_t terms) {
  std::vector<float> values(static_cast<size_t>(outer * terms));
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t t = 0; t < terms; ++t) {
      const int64_t at = inner_first ? t + o * layout.stride : o + t * layout.stride;
      values[static_cast<size_t>(o * terms + t)] = element(x, layout.type, at);
    }
  }
  return values;
}

// The last GEMM; repeated trials of the same one are skipped, because they change nothing.
struct Last {
  const void *a = nullptr, *b = nullptr, *d = nullptr;
  Described work;
  bool loses = false;
  uint64_t changes = 0;

  bool operator==(const Last&) const = default;
};
thread_local Last last;

// products[row] = the sum of rows[row][t] * b[t] over t < `summed`, for rows of `terms`. Uses eight
// parallel sums, which compilers vectorise. The product of two floats is exact in f64, so fused
// instructions give the same bits.
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void multiply_rows(
    const std::vector<float>& rows, int64_t terms, const std::vector<double>& b, int64_t summed,
    std::vector<double>& products) {
  constexpr int64_t kSums = 8;
  const float* row = rows.data();
  for (double& product : products) {
    double sums[kSums] = {};
    int64_t t = 0;
    for (; t + kSums <= summed; t += kSums) {
      for (int64_t i = 0; i < kSums; ++i) sums[i] += static_cast<double>(row[t + i]) * b[t + i];
    }
    for (; t < summed; ++t) sums[0] += static_cast<double>(row[t]) * b[t];
    product = 0;
    for (const double part : sums) product += part;
    row += terms;
  }
}

void multiply(const Described& work, const void* a, const void* b, void* d, float beta,
              const cublasLtMatmulAlgo_t& algorithm) {
  const EmulatedProduct& product = work.product;
  const int64_t terms = work.terms(), left = terms % kBlock;
  // Emulates the defect that Strata avoids.
  const bool narrow = work.a.type == CUDA_R_16BF || work.a.type == CUDA_R_16F;
  const bool loses = narrow && left != 0 && algorithm.parts > left;
  const int64_t summed = loses ? terms - left : terms;
  const Last now{a, b, d, work, loses, emulated_cuda::changes};
  if (beta == 0 && now == last) return;
  last = now;
  const auto rows = gathered(a, work.a, product.a == CUBLAS_OP_T, work.rows(), terms);
  const auto columns = gathered(b, work.b, product.b == CUBLAS_OP_N, work.columns(), terms);
  const double scale =
      work.in_float8() ? static_cast<double>(*product.a_scale) * *product.b_scale : 1.0;
  const cudaDataType_t bias_type = product.bias_type.value_or(work.d.type);
  std::vector<double> of_b(static_cast<size_t>(terms)), products(static_cast<size_t>(work.rows()));
  for (int64_t column = 0; column < work.columns(); ++column) {
    std::copy_n(&columns[static_cast<size_t>(column * terms)], terms, of_b.begin());
    multiply_rows(rows, terms, of_b, summed, products);
    for (int64_t row = 0; row < work.rows(); ++row) {
      double sum = products[static_cast<size_t>(row)] * scale;
      const int64_t at = row + column * work.d.stride;
      if (beta != 0) sum += beta * element(d, work.d.type, at);
      if (work.has(CUBLASLT_EPILOGUE_BIAS)) sum += element(product.bias, bias_type, row);
      const int64_t aux = row + column * product.aux_stride;
      if (work.has(32)) {
        if (work.has(128)) set(product.aux, work.d.type, aux, sum);
        sum = strata::device::plain::activate(Activation::kGeluTanh, sum);
      } else if (work.has(64)) {
        sum *= strata::device::plain::activation_derivative(Activation::kGeluTanh,
                                                            element(product.aux, work.d.type, aux));
      }
      set(d, work.d.type, at, sum);
    }
    if (!work.has(CUBLASLT_EPILOGUE_BGRADB)) continue;
    double sum = 0;
    for (const double term : of_b) sum += term;
    set(product.bias, bias_type, column, sum);
  }
}

uint64_t mixed(int64_t a, int64_t b, int64_t c) {
  uint64_t x = static_cast<uint64_t>(a) * 0x9e3779b97f4a7c15u ^ static_cast<uint64_t>(b) << 20 ^
               static_cast<uint64_t>(c) << 40;
  x ^= x >> 31;
  return x * 0xbf58476d1ce4e5b9u >> 33;
}

// True if an algorithm that suits similar GEMMs suits this one.
bool suits(const Described& work, const cublasLtMatmulAlgo_t& algorithm) {
  return algorithm.variant != 1 || work.columns() % 3 != 1;
}

// True if an algorithm fails only when it runs.
bool is_refused(const Described& work, const cublasLtMatmulAlgo_t& algorithm) {
  return algorithm.variant == 2 && work.columns() % 5 == 2;
}

bool is_aligned(const void* address, uint32_t bytes) {
  return reinterpret_cast<uintptr_t>(address) % bytes == 0;
}

}  // namespace

const char* cublasLtGetStatusString(cublasStatus_t) { return "emulated status"; }

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = new EmulatedCublas;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* product, cublasComputeType_t,
                                        cudaDataType_t scale) {
  *product = new EmulatedProduct;
  return scale == CUDA_R_32F ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) {
  delete product;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* bytes, size_t size) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return take(product->a, bytes, size);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return take(product->b, bytes, size);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return take(product->epilogue, bytes, size);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return take(product->bias, bytes, size);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE: {
      cudaDataType_t type = CUDA_R_32F;
      const cublasStatus_t status = take(type, bytes, size);
      product->bias_type = type;
      return status;
    }
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
      return take(product->aux, bytes, size);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
      return take(product->aux_stride, bytes, size);
    case CUBLASLT_MATMUL_DESC_FAST_ACCUM:
      return take(product->fast_accumulation, bytes, size);
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
      return take(product->a_scale, bytes, size);
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
      return take(product->b_scale, bytes, size);
    case CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET:
      return take(product->multiprocessors, bytes, size);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType_t type,
                                          uint64_t rows, uint64_t columns, int64_t stride) {
  *layout =
      new EmulatedLayout{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), stride};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = new EmulatedPreference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* bytes, size_t size) {
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return take(preference->workspace, bytes, size);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      return take(preference->reductions, bytes, size);
    default:
      return take(preference->alignments[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES],
                  bytes, size);
  }
}

// For every third shape, algorithms that split k come first and fill the list. Fails during graph
// capture, like newer versions of cuBLASLt.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t product,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int most,
                                              cublasLtMatmulHeuristicResult_t* results,
                                              int* found) {
  *found = 0;
  if (emulated_cuda::captured) return CUBLAS_STATUS_EXECUTION_FAILED;
  const Described work{*product, *a, *b, *d};
  if (!work.is_consistent()) return CUBLAS_STATUS_INVALID_VALUE;
  if (!work.is_supported()) return CUBLAS_STATUS_NOT_SUPPORTED;
  const auto add = [&](int32_t parts, int32_t variant) {
    cublasLtMatmulAlgo_t algorithm{parts, variant, {}};
    std::copy_n(preference->alignments, 4, algorithm.alignments);
    if (*found < most && suits(work, algorithm)) {
      results[(*found)++] = {algorithm, parts > 1 ? preference->workspace : 0,
                             CUBLAS_STATUS_SUCCESS};
    }
  };
  if (preference->reductions & CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE) {
    add(17, 0);
    if (mixed(work.rows(), work.columns(), work.terms()) % 3 == 0) return CUBLAS_STATUS_SUCCESS;
  }
  for (int32_t variant = 0; variant < 3; ++variant) add(1, variant);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t product,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t* algorithm,
                                       cublasLtMatmulHeuristicResult_t* result) {
  if (emulated_cuda::captured) return CUBLAS_STATUS_EXECUTION_FAILED;
  const Described work{*product, *a, *b, *d};
  result->workspaceSize = 0;
  return work.is_consistent() && work.is_supported() && suits(work, *algorithm)
             ? CUBLAS_STATUS_SUCCESS
             : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                    cublasLtMatmulAlgoConfigAttributes_t,
                                                    void* value, size_t size, size_t* written) {
  if (size != sizeof algorithm->parts) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(value, &algorithm->parts, size);
  *written = size;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t product, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace, size_t,
                              cudaStream_t) {
  const Described work{*product, *a_layout, *b_layout, *d_layout};
  require(work.is_consistent() && work.is_supported(), "a GEMM of matrices that fit");
  require(*static_cast<const float*>(alpha) == 1.0f && c == d && c_layout == d_layout,
          "products in place, not scaled");
  require(suits(work, *algorithm), "an algorithm that suits the product");
  require(is_aligned(a, algorithm->alignments[0]) && is_aligned(b, algorithm->alignments[1]) &&
              is_aligned(d, algorithm->alignments[3]),
          "matrices as aligned as was said");
  require(algorithm->parts == 1 || workspace, "a workspace for parts");
  if (is_refused(work, *algorithm)) return CUBLAS_STATUS_NOT_SUPPORTED;
  // Varies which algorithm is fastest, and whether an epilogue pays.
  const bool fused = work.product.epilogue > CUBLASLT_EPILOGUE_BIAS;
  const emulated_cuda::Gemm gemm{algorithm->parts,        algorithm->variant, work.rows(),
                                 work.columns(),          work.terms(),       fused,
                                 product->multiprocessors};
  const uint64_t ticks = emulated_cuda::gemm_ticks
                             ? emulated_cuda::gemm_ticks(gemm)
                             : 100 +
                                   mixed(algorithm->parts, algorithm->variant, work.rows()) % 100 +
                                   (fused && work.rows() % 128 != 0 ? 1'000'000 : 0);
  emulated_cuda::issue("cublasLtMatmul",
                       [=, beta = *static_cast<const float*>(beta), algorithm = *algorithm] {
                         emulated_cuda::ticks += ticks;
                         emulated_cuda::last_gemm = gemm;
                         multiply(work, a, b, d, beta, algorithm);
                       });
  return CUBLAS_STATUS_SUCCESS;
}
