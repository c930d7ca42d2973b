// cuDNN's fused attention. It draws random numbers by a sample's place in the batch, Strata by the
// sample, so that losses do not depend on how samples are dealt out: cuDNN's serves where nothing
// is dropped, as in evaluations.
#pragma once

#include <memory>

#include "device/backend.h"
#include "device/cuda/runtime.h"

namespace strata::device::cuda {

class CudnnAttention {
 public:
  // Throws Error where cuDNN cannot be used, and says why.
  explicit CudnnAttention(const cudaDeviceProp& gpu);
  ~CudnnAttention();

  // Whether cuDNN computes this, bf16 with rows that are 16-byte aligned: a plan is there, or was
  // made now. None is made while a graph is recorded.
  bool takes(const Context& context, const AttentionForward& op);
  bool takes(const Context& context, const AttentionBackward& op);

  // What it takes. The same bits every time. Throws Error where cuDNN fails.
  void forward(const Context& context, const AttentionForward& op);
  void backward(const Context& context, const AttentionBackward& op);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace strata::device::cuda
