// Matrix products on the GPU, through cuBLASLt.
#pragma once

#include <memory>

#include "device/cuda/runtime.h"
#include "device/matmul_call.h"

namespace strata::device::cuda {

// Products on one stream, f32 without tf32 or bf16, accumulated in f32; a bias only where output
// and inputs have the same dtype. The first product of a kind tries cuBLASLt's candidates on the
// device and waits for it; later ones of the kind use the fastest. Kinds: everything but the
// pointers, with the number of rows that varies from batch to batch rounded up. Descriptions of
// products are kept, too.
class Matmul {
 public:
  explicit Matmul(cudaStream_t stream);
  ~Matmul();

  void operator()(const MatmulCall& call);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace strata::device::cuda
