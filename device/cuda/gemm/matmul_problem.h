// A GEMM as cuBLASLt's descriptors, and the algorithms that may compute it.
#pragma once

#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "device/cuda/gemm/matmul.h"
#include "device/cuda/runtime/alignment.h"

namespace strata::device::cuda {

inline constexpr size_t kWorkspaceBytes = size_t{32} << 20;

inline void check(cublasStatus_t status, const char* attempt) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    fail("cuda: {} failed: {}", attempt, cublasLtGetStatusString(status));
  }
}

inline cudaDataType_t cuda_type(Float8Operands::Format format) {
  return format == Float8Operands::Format::kE4M3 ? CUDA_R_8F_E4M3 : CUDA_R_8F_E5M2;
}

inline cudaDataType_t cuda_type(DType dtype) {
  if (dtype == DType::kF16) return CUDA_R_16F;
  return dtype == DType::kBF16 ? CUDA_R_16BF : CUDA_R_32F;
}

// Returns the alignment of an address in bytes, up to cuBLASLt's default.
inline uint32_t alignment_of(const void* address) {
  constexpr uintptr_t kMost = 256;
  const uintptr_t bits = reinterpret_cast<uintptr_t>(address) | kMost;
  return static_cast<uint32_t>(bits & ~(bits - 1));
}

// Result of a GEMM with k = 0.
inline void clear_output(const MatmulCall& call, cudaStream_t stream) {
  const size_t size = size_of(call.output_dtype);
  cuda::check(
      cudaMemset2DAsync(call.c, static_cast<size_t>(call.ldc) * size, 0,
                        static_cast<size_t>(call.n) * size, static_cast<size_t>(call.m), stream),
      "clearing the output of a GEMM without terms");
}

inline cublasLtEpilogue_t cublas_epilogue(const MatmulCall& call, const MatmulEpilogue& epilogue) {
  switch (epilogue.kind) {
    case MatmulEpilogue::Kind::kGelu:
      return epilogue.pre_activation ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS
                                     : CUBLASLT_EPILOGUE_GELU_BIAS;
    case MatmulEpilogue::Kind::kGeluGradient:
      return CUBLASLT_EPILOGUE_DGELU;
    case MatmulEpilogue::Kind::kColumnSums:
      return CUBLASLT_EPILOGUE_BGRADB;
    case MatmulEpilogue::Kind::kNone:
      break;
  }
  return call.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

// Owns a descriptor that `Create` makes and `Destroy` frees.
template <typename Descriptor, auto Destroy>
struct Owned {
  Descriptor descriptor = nullptr;
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (descriptor) Destroy(descriptor);
  }
};

// Returns the vector that is added to a product's rows, or receives its sums; null if there is
// none.
inline const void* vector_of(const MatmulCall& call, const MatmulEpilogue& epilogue) {
  return epilogue.column_sums ? epilogue.column_sums : call.bias;
}

// Operands and outputs of a GEMM. cuBLASLt is column-major: row-major c[m, n] is its C[n, m], the
// GEMM op(b) op(a).
struct Work {
  MatmulCall call;
  MatmulEpilogue epilogue;
  std::optional<Float8Operands> float8;
  int32_t multiprocessors = 0;  // see MatmulOptions

  cudaDataType_t a_type() const {
    return float8 ? cuda_type(float8->a) : cuda_type(call.input_dtype);
  }
  cudaDataType_t b_type() const {
    return float8 ? cuda_type(float8->b) : cuda_type(call.input_dtype);
  }
};

// Number of parts that an algorithm splits k into.
inline int32_t parts_of(const cublasLtMatmulAlgo_t& algorithm) {
  int32_t parts = 1;
  size_t written = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoConfigGetAttribute(
      &algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &parts, sizeof parts, &written);
  return status == CUBLAS_STATUS_SUCCESS ? parts : 1;
}

// Elements of k that cuBLASLt's algorithms take at a time.
inline constexpr int64_t kBlockOfK = 64;

// cuBLASLt's 16-bit GEMMs that split k into more parts than the remainder of k / 64 may omit these
// last terms (versions 12.8 to 13.1 on compute capability 9.0; measured in
// facebookexperimental/triton, pull request 2767).
inline bool may_lose_terms(const cublasLtMatmulAlgo_t& algorithm, const Work& work) {
  const int64_t left = work.call.k % kBlockOfK;
  return left != 0 && !work.float8 && size_of(work.call.input_dtype) == 2 &&
         parts_of(algorithm) > left;
}

// True if the GEMM sums over the rows of a batch, so that k varies between batches: a weight
// gradient.
inline bool adds_up_rows(const Work& work) { return work.call.transpose_a && !work.float8; }

// Returns the work that is measured for a neighbourhood. If k varies, it is rounded down to whole
// blocks. Otherwise the first k would exclude algorithms that may omit its last terms, for all
// other k, too.
inline Work measured_for(const Work& work) {
  Work measured = work;
  if (adds_up_rows(work) && work.call.k > kBlockOfK) measured.call.k -= work.call.k % kBlockOfK;
  return measured;
}

class Problem {
 public:
  explicit Problem(const Work& work) {
    const MatmulCall& call = work.call;
    check(cublasLtMatmulDescCreate(&operation_.descriptor, CUBLAS_COMPUTE_32F, CUDA_R_32F),
          "describing a GEMM");
    set(CUBLASLT_MATMUL_DESC_TRANSA, call.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, call.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, cublas_epilogue(call, work.epilogue));
    if (call.bias) set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, cuda_type(call.input_dtype));
    if (work.epilogue.column_sums) set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, CUDA_R_32F);
    if (work.epilogue.pre_activation) set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, call.ldc);
    if (work.multiprocessors > 0) {
      set(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, work.multiprocessors);
    }
    if (work.float8) {
      // Sums of products of activations may lose some precision; those of gradients may not.
      const int8_t fast = work.float8->a == Float8Operands::Format::kE4M3 ? 1 : 0;
      set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, fast);
    }
    point(work);
    describe(b_, work.b_type(), call.transpose_b ? call.k : call.n,
             call.transpose_b ? call.n : call.k, call.ldb);
    describe(a_, work.a_type(), call.transpose_a ? call.m : call.k,
             call.transpose_a ? call.k : call.m, call.lda);
    describe(c_, cuda_type(call.output_dtype), call.n, call.m, call.ldc);
  }

  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  // Returns algorithms for work of this problem's kind, best first by cuBLASLt's estimate; empty if
  // cuBLASLt does not support it.
  std::vector<cublasLtMatmulAlgo_t> candidates(cublasLtHandle_t handle, const Work& work) const {
    // Parts are added in f32.
    uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    if (work.call.output_dtype == DType::kF32) reductions |= CUBLASLT_REDUCTION_SCHEME_INPLACE;
    std::vector<cublasLtMatmulAlgo_t> algorithms = candidates(handle, work, reductions);
    const size_t lossy = std::erase_if(
        algorithms, [&](const auto& algorithm) { return may_lose_terms(algorithm, work); });
    // There may be no candidate left, or none that supports every k.
    const bool k_varies = size_of(work.call.input_dtype) == 2 && adds_up_rows(work);
    const bool has_whole = std::any_of(algorithms.begin(), algorithms.end(), is_whole);
    if (lossy > 0 || (k_varies && !has_whole)) {
      const auto whole = candidates(handle, work, CUBLASLT_REDUCTION_SCHEME_NONE);
      algorithms.insert(algorithms.end(), whole.begin(), whole.end());
    }
    return algorithms;
  }

  static bool is_whole(const cublasLtMatmulAlgo_t& algorithm) { return parts_of(algorithm) == 1; }

  bool suits(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& algorithm,
             const Work& work) const {
    cublasLtMatmulHeuristicResult_t result;
    return !may_lose_terms(algorithm, work) &&
           cublasLtMatmulAlgoCheck(handle, operation_.descriptor, b_.descriptor, a_.descriptor,
                                   c_.descriptor, c_.descriptor, &algorithm,
                                   &result) == CUBLAS_STATUS_SUCCESS &&
           result.workspaceSize <= kWorkspaceBytes;
  }

  // Runs work of this problem's kind, with its own matrices.
  cublasStatus_t run(cublasLtHandle_t handle, cudaStream_t stream, void* workspace,
                     const Work& work, const cublasLtMatmulAlgo_t& algorithm) {
    point(work);
    const MatmulCall& call = work.call;
    const float one = 1.0f, added = call.accumulate ? 1.0f : 0.0f;
    return cublasLtMatmul(handle, operation_.descriptor, &one, call.b, b_.descriptor, call.a,
                          a_.descriptor, &added, call.c, c_.descriptor, call.c, c_.descriptor,
                          &algorithm, workspace, kWorkspaceBytes, stream);
  }

 private:
  using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;

  // Returns the algorithms that add up parts only in these ways.
  std::vector<cublasLtMatmulAlgo_t> candidates(cublasLtHandle_t handle, const Work& work,
                                               uint32_t reductions) const {
    constexpr int kMost = 8;
    Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy> preference;
    check(cublasLtMatmulPreferenceCreate(&preference.descriptor), "asking for an algorithm");
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      check(cublasLtMatmulPreferenceSetAttribute(preference.descriptor, attribute, &value,
                                                 sizeof value),
            "asking for an algorithm");
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(work.call.b));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(work.call.a));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(work.call.c));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(work.call.c));
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions);
    std::array<cublasLtMatmulHeuristicResult_t, kMost> results;
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle, operation_.descriptor, b_.descriptor, a_.descriptor, c_.descriptor, c_.descriptor,
        preference.descriptor, kMost, results.data(), &found);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return {};
    check(status, "choosing an algorithm");
    std::vector<cublasLtMatmulAlgo_t> algorithms;
    for (int i = 0; i < found; ++i) {
      if (results[i].state == CUBLAS_STATUS_SUCCESS) algorithms.push_back(results[i].algo);
    }
    return algorithms;
  }

  void point(const Work& work) {
    const void* vector = vector_of(work.call, work.epilogue);
    if (vector) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, vector);
    if (work.float8) {
      set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, work.float8->b_factor);
      set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, work.float8->a_factor);
    }
    if (work.epilogue.pre_activation) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, work.epilogue.pre_activation);
    }
  }
  template <typename Value>
  void set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
    check(cublasLtMatmulDescSetAttribute(operation_.descriptor, attribute, &value, sizeof value),
          "describing a GEMM");
  }
  static void describe(Layout& layout, cudaDataType_t type, int64_t rows, int64_t columns,
                       int64_t stride) {
    check(cublasLtMatrixLayoutCreate(&layout.descriptor, type, static_cast<uint64_t>(rows),
                                     static_cast<uint64_t>(columns), stride),
          "describing a matrix");
  }

  Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy> operation_;
  Layout a_, b_, c_;
};

}  // namespace strata::device::cuda
