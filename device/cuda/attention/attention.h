// Implementations of attention, and the choice between them.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "device/backend.h"
#include "device/cuda/attention/cudnn/cudnn_attention.h"
#include "device/cuda/host/kernel_choices.h"
#include "device/cuda/runtime/runtime.h"

namespace strata::device::cuda {

// One warp per query, for any head size up to 128. T: float, BFloat16 or Float16.
template <typename T>
void plain_attention_forward(const Context& context, const AttentionForward& op);

// The source of a row's mean gradient in backward: the mean over keys, weighted by probability.
enum class RowMean {
  kSummed,     // f32 sum over keys
  kOfContext,  // the context, which is rounded to T, times its gradient, as in the tiled kernels
};
template <typename T>
void plain_attention_backward(const Context& context, const AttentionBackward& op,
                              RowMean mean = RowMean::kSummed);

// Tiles of 64 queries x 64 keys on tensor cores, bf16, for heads of 32 and 64 units with 16-byte
// aligned rows. Scores stay in registers (Dao 2023, "FlashAttention-2"); gradients are summed in a
// fixed order.
void mma_attention_forward(const Context& context, const AttentionForward& op);
void mma_attention_backward(const Context& context, const AttentionBackward& op);

// The same with instructions that only GPUs of compute capability 9.0 have, for heads of 64 units.
void wgmma_attention_forward(const Context& context, const AttentionForward& op);
void wgmma_attention_backward(const Context& context, const AttentionBackward& op);

// Chooses the kernel of a GPU's bf16 attention: the requested one, or, for kFastest, the fastest of
// mma, wgmma and cuDNN whose results agree. The first call of a kind (head size, dropout or not,
// forward or backward) with enough work runs all of them on its inputs and waits for them.
//
// Results must equal mma's up to rounding. Otherwise plain attention checks both. A kernel with
// wrong results is not used, which is reported on standard error. If all are wrong, plain attention
// is used. Results that are not finite decide nothing: the next call compares again. Calls with
// less work never decide: they use the earlier choice, or else mma.
class AttentionChoice {
 public:
  // Kernels are compared on work of at least `compared_from` floating-point operations. Throws
  // Error if the GPU cannot run `wanted`.
  AttentionChoice(AttentionKernel wanted, const cudaDeviceProp& gpu, double compared_from);

  // Returns kPlain, kMma, kWgmma or kCudnn. Throws Error if cuDNN was requested and has no plan for
  // an operation that it supports.
  AttentionKernel operator()(const Context& context, const AttentionForward& op);
  AttentionKernel operator()(const Context& context, const AttentionBackward& op);
  // Requires that kCudnn was chosen.
  CudnnAttention& cudnn() { return *cudnn_; }

 private:
  struct Found {
    AttentionKernel of_ours;              // plain, mma or wgmma
    std::optional<bool> cudnn_is_faster;  // absent: not tried
  };
  // [head size 32 or 64][without or with dropout]
  using FoundByKind = std::array<std::array<std::optional<Found>, 2>, 2>;

  template <typename Op>
  AttentionKernel choose(const Context& context, const Op& op, bool aligned, FoundByKind& found);
  // Returns nullopt if results are not finite, which decides nothing.
  template <typename Op>
  std::optional<Found> fastest(const Context& context, const Op& op);
  // True if cuDNN is present and has a plan, and memory, for this operation.
  template <typename Op>
  bool cudnn_takes(const Context& context, const Op& op);
  bool has_wgmma(int64_t head_size) const;

  AttentionKernel wanted_;
  cudaDeviceProp gpu_;
  double compared_from_;
  std::unique_ptr<CudnnAttention> cudnn_;  // loaded on first use
  bool cudnn_is_missing_ = false;
  FoundByKind forward_, backward_;
};

}  // namespace strata::device::cuda
