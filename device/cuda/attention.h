// Implementations of attention, and which of them runs.
#pragma once

#include <array>
#include <optional>

#include "device/backend.h"
#include "device/cuda/runtime.h"

namespace strata::device::cuda {

// A warp a query: for any head size up to 128. T: float or BFloat16.
template <typename T>
void plain_attention_forward(const Context& context, const AttentionForward& op);
template <typename T>
void plain_attention_backward(const Context& context, const AttentionBackward& op);

// Tiles of 64 queries x 64 keys on tensor cores, bf16, for heads of 32 and 64 units whose rows are
// 16-byte aligned; scores stay in registers (Dao 2023, "FlashAttention-2"), gradients are summed in
// a fixed order.
void mma_attention_forward(const Context& context, const AttentionForward& op);
void mma_attention_backward(const Context& context, const AttentionBackward& op);

// The same by instructions that only GPUs of compute capability 9.0 have, for heads of 64 units.
void wgmma_attention_forward(const Context& context, const AttentionForward& op);
void wgmma_attention_backward(const Context& context, const AttentionBackward& op);

// Which of them a GPU's bf16 attention is computed by: what was asked for, or what was found to be
// fastest, forward and backward, with and without dropout.
class AttentionChoice {
 public:
  // Throws Error for what the GPU cannot do.
  AttentionChoice(AttentionKernel wanted, const cudaDeviceProp& gpu);

  // Of plain, mma and wgmma. The first call of its kind tries what there is, and waits for it.
  AttentionKernel operator()(const Context& context, const AttentionForward& op);
  AttentionKernel operator()(const Context& context, const AttentionBackward& op);

 private:
  // What heads of this size can be computed by: of mma and wgmma, where both can, what `measure`
  // says when it is first asked.
  template <typename Measure>
  AttentionKernel choose(const Context& context, int64_t head_size, bool aligned,
                         std::optional<AttentionKernel>& known, const Measure& measure) const;

  AttentionKernel wanted_;
  bool has_wgmma_;
  std::array<std::optional<AttentionKernel>, 2> forward_, backward_;  // without and with dropout
};

}  // namespace strata::device::cuda
