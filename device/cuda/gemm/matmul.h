// GEMMs on the GPU with cuBLASLt.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "device/cuda/host/kernel_choices.h"
#include "device/cuda/runtime/runtime.h"
#include "device/operations/matmul_call.h"

namespace strata::device::cuda {

// Additional work of a GEMM in the same pass, with bf16 inputs.
struct MatmulEpilogue {
  enum class Kind : uint8_t {
    kNone,
    kGelu,          // pre_activation = c, c = gelu(c), in its tanh form
    kGeluGradient,  // c *= gelu'(pre_activation)
    kColumnSums,    // column_sums = sums over k of op(a)'s rows
  };
  Kind kind = Kind::kNone;
  // [m, n] of the output's dtype, with rows `ldc` apart. May be null for kGelu.
  void* pre_activation = nullptr;
  float* column_sums = nullptr;  // [m]
};

// Formats of a GEMM's FP8 operands a and b, and their factors (device memory).
struct Float8Operands {
  enum class Format : uint8_t { kE4M3, kE5M2 };
  Format a = Format::kE4M3, b = Format::kE4M3;
  const float* a_factor = nullptr;
  const float* b_factor = nullptr;
};

// Numbers of rows that round up to the same multiple of this share measurements.
inline constexpr int64_t kRowsTriedTogether = 1024;

struct MatmulOptions {
  FusedEpilogues epilogues = FusedEpilogues::kFastest;
  int multiprocessors = 0;  // maximum that a GEMM's kernels may occupy; 0: all
};

// GEMMs on one stream; f32 without tf32 or bf16, accumulated in f32. A bias requires that output
// and inputs have the same dtype. The first GEMM of a kind tries cuBLASLt's candidates on the
// device and waits for it. Later ones of the kind use the first candidate that no other is clearly
// faster than. A kind is everything but the pointers, with the number of rows that varies between
// batches rounded up. Descriptions of GEMMs are cached, too.
class Matmul {
 public:
  Matmul(cudaStream_t stream, const MatmulOptions& options);
  ~Matmul();

  void operator()(const MatmulCall& call);
  // Requires a [m, k] and b [n, k], so that only `transpose_b` is set; m, n and k are multiples of
  // 16. The call's `input_dtype` is the bias's, and not f32.
  void operator()(const MatmulCall& call, const Float8Operands& operands);

  // Runs the GEMM with its epilogue, or the equivalent `separately` with a call and an epilogue.
  // These may differ from the arguments only in their outputs and, for weight gradients, in a
  // smaller k. The first call for a kind of GEMM tries both, unless one was requested, and uses the
  // epilogue if it is clearly faster. Uses `separately` if cuBLASLt does not support the epilogue,
  // memory is misaligned, or nothing can be measured during graph capture. Returns true if it ran
  // the GEMM with its epilogue.
  using Separately = std::function<void(const MatmulCall&, const MatmulEpilogue&)>;
  bool operator()(const MatmulCall& call, const MatmulEpilogue& epilogue,
                  const Separately& separately);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Version of the loaded library.
std::string cublaslt_version();

}  // namespace strata::device::cuda
