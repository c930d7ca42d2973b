// GEMMs on the GPU, through cuBLASLt.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "device/cuda/host/kernel_choices.h"
#include "device/cuda/runtime/runtime.h"
#include "device/operations/matmul_call.h"

namespace strata::device::cuda {

// What else a GEMM may do in one pass, with bf16 inputs.
struct MatmulEpilogue {
  enum class Kind : uint8_t {
    kNone,
    kGelu,          // pre_activation = c, c = gelu(c), in its tanh form
    kGeluGradient,  // c *= gelu'(pre_activation)
    kColumnSums,    // column_sums = the sums over k of op(a)'s rows
  };
  Kind kind = Kind::kNone;
  void* pre_activation =
      nullptr;                   // [m, n], `ldc` apart, of the output's dtype; kGelu may do without
  float* column_sums = nullptr;  // [m]
};

// Of a GEMM whose a and b are FP8: their formats, and what they are to be multiplied
// by (device memory).
struct Float8Operands {
  enum class Format : uint8_t { kE4M3, kE5M2 };
  Format a = Format::kE4M3, b = Format::kE4M3;
  const float* a_factor = nullptr;
  const float* b_factor = nullptr;
};

// Numbers of rows that round up to the same multiple of this share what is measured.
inline constexpr int64_t kRowsTriedTogether = 1024;

struct MatmulOptions {
  FusedEpilogues epilogues = FusedEpilogues::kFastest;
  int multiprocessors = 0;  // the most that a GEMM's kernels may occupy; 0: all
};

// GEMMs on one stream, f32 without tf32 or bf16, accumulated in f32; a bias only where output
// and inputs have the same dtype. The first GEMM of a kind tries cuBLASLt's candidates on the
// device and waits for it; later ones of the kind use the first of them that no other is clearly
// faster than. Kinds: everything but the pointers, with the number of rows that varies from batch
// to batch rounded up. Descriptions of GEMMs are kept, too.
class Matmul {
 public:
  Matmul(cudaStream_t stream, const MatmulOptions& options);
  ~Matmul();

  void operator()(const MatmulCall& call);
  // a [m, k] and b [n, k], so that `transpose_b` alone holds; m, n and k are multiples of 16. The
  // call's `input_dtype` is the bias's, and not f32.
  void operator()(const MatmulCall& call, const Float8Operands& operands);

  // The GEMM with its epilogue, or what does the same: `separately` of a call and an epilogue
  // that differ from these in where they write, and in a smaller k of weight gradients, at most.
  // The first time for a kind of GEMM tries both, unless one was asked for, and has an epilogue
  // where that is clearly faster; without cuBLASLt's support, on misaligned memory and where
  // nothing can be tried, as a graph is captured, it is `separately`. Returns whether it was the
  // GEMM with its epilogue.
  using Separately = std::function<void(const MatmulCall&, const MatmulEpilogue&)>;
  bool operator()(const MatmulCall& call, const MatmulEpilogue& epilogue,
                  const Separately& separately);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Of the library that computes them.
std::string cublaslt_version();

}  // namespace strata::device::cuda
