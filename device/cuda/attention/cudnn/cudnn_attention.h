// cuDNN's fused attention. It draws random numbers by a sample's place in the batch, Strata by the
// sample, so that losses do not depend on how samples are dealt out: cuDNN's serves where nothing
// is dropped, as in evaluations.
#pragma once

#include <memory>

#include "device/backend.h"
#include "device/cuda/runtime/runtime.h"

namespace strata::device::cuda {

class CudnnAttention {
 public:
  // Throws Error where cuDNN cannot be used, and says why.
  explicit CudnnAttention(const cudaDeviceProp& gpu);
  ~CudnnAttention();

  // Whether this is for cuDNN, bf16 with rows that are 16-byte aligned: without dropout or codes of
  // 8 bits, and without empty sequences unless its version computes them.
  bool is_for(const AttentionForward& op) const;
  bool is_for(const AttentionBackward& op) const;
  // Makes a plan for an operation that is_for() accepts, unless there is one already, and allocates
  // its workspace in context.scratch[1]. Making a plan takes a third of a second. Returns false if
  // GPU memory has no room for the workspace; says so on the standard error once. Throws Error if
  // cuDNN has no plan, or if a plan would have to be made while a graph is captured.
  bool prepare(const Context& context, const AttentionForward& op);
  bool prepare(const Context& context, const AttentionBackward& op);

  // What was prepared. The same bits every time. Throws Error where cuDNN fails.
  void forward(const Context& context, const AttentionForward& op);
  void backward(const Context& context, const AttentionBackward& op);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace strata::device::cuda
