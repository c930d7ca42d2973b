// cuDNN's fused attention. cuDNN draws random numbers by a sample's position in the batch, Strata
// by the sample, so that losses do not depend on the batch plan. So cuDNN's attention is used only
// without dropout, as in evaluations.
#pragma once

#include <memory>

#include "device/backend.h"
#include "device/cuda/runtime/runtime.h"

namespace strata::device::cuda {

class CudnnAttention {
 public:
  // Throws Error with the reason if cuDNN cannot be used.
  explicit CudnnAttention(const cudaDeviceProp& gpu);
  ~CudnnAttention();

  // True if cuDNN supports the operation: bf16 with 16-byte aligned rows, without dropout or FP8
  // codes, and without empty sequences unless its version supports them.
  bool is_for(const AttentionForward& op) const;
  bool is_for(const AttentionBackward& op) const;
  // Makes a plan for an operation that is_for() accepts, unless there is one, and allocates its
  // workspace in context.scratch[1]. Making a plan takes a third of a second. Returns false, and
  // reports it once on standard error, if GPU memory has no room for the workspace. Throws Error if
  // cuDNN has no plan, or if a plan would have to be made during graph capture.
  bool prepare(const Context& context, const AttentionForward& op);
  bool prepare(const Context& context, const AttentionBackward& op);

  // Run a prepared operation. Results have the same bits every time. Throw Error if cuDNN fails.
  void forward(const Context& context, const AttentionForward& op);
  void backward(const Context& context, const AttentionBackward& op);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace strata::device::cuda
