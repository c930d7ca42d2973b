// Implementations of attention, and which of them runs.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "device/backend.h"
#include "device/cuda/attention/cudnn_attention.h"
#include "device/cuda/host/kernel_choices.h"
#include "device/cuda/runtime/runtime.h"

namespace strata::device::cuda {

// A warp a query: for any head size up to 128. T: float, BFloat16 or Float16.
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

// Which of them, or cuDNN's, a GPU's bf16 attention is computed by: what was asked for, or what was
// found to be fastest.
class AttentionChoice {
 public:
  // Throws Error for what the GPU cannot do.
  AttentionChoice(AttentionKernel wanted, const cudaDeviceProp& gpu);

  // Of plain, mma, wgmma and cudnn. The first call of its kind tries what there is, and waits for
  // it. Throws Error where cuDNN was asked for and cannot compute what it is for.
  AttentionKernel operator()(const Context& context, const AttentionForward& op);
  AttentionKernel operator()(const Context& context, const AttentionBackward& op);
  // After it was chosen.
  CudnnAttention& cudnn() { return *cudnn_; }

 private:
  struct Found {
    AttentionKernel of_ours;              // mma or wgmma
    std::optional<bool> cudnn_is_faster;  // absent: not tried
  };
  // Heads of 32 and 64, without and with dropout.
  using FoundByKind = std::array<std::array<std::optional<Found>, 2>, 2>;

  template <typename Op>
  AttentionKernel choose(const Context& context, const Op& op, bool aligned, FoundByKind& found);
  template <typename Op>
  Found fastest(const Context& context, const Op& op);
  // Whether cuDNN is there and has a plan for this.
  template <typename Op>
  bool cudnn_takes(const Context& context, const Op& op);
  bool has_wgmma(int64_t head_size) const { return gpu_.major == 9 && head_size == 64; }

  AttentionKernel wanted_;
  cudaDeviceProp gpu_;
  std::unique_ptr<CudnnAttention> cudnn_;  // loaded when it might first serve
  bool cudnn_is_missing_ = false;
  FoundByKind forward_, backward_;
};

}  // namespace strata::device::cuda
