// Implementations of attention, and which of them runs.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "device/backend.h"
#include "device/cuda/attention/cudnn/cudnn_attention.h"
#include "device/cuda/host/kernel_choices.h"
#include "device/cuda/runtime/runtime.h"

namespace strata::device::cuda {

// A warp a query: for any head size up to 128. T: float, BFloat16 or Float16.
template <typename T>
void plain_attention_forward(const Context& context, const AttentionForward& op);

// The source of a row's mean gradient in backward: the mean over keys, weighted by probability.
enum class RowMean {
  kSummed,     // a sum in f32
  kOfContext,  // the context, which is rounded to T, and its gradient: as the tiled kernels do
};
template <typename T>
void plain_attention_backward(const Context& context, const AttentionBackward& op,
                              RowMean mean = RowMean::kSummed);

// Tiles of 64 queries x 64 keys on tensor cores, bf16, for heads of 32 and 64 units whose rows are
// 16-byte aligned; scores stay in registers (Dao 2023, "FlashAttention-2"), gradients are summed in
// a fixed order.
void mma_attention_forward(const Context& context, const AttentionForward& op);
void mma_attention_backward(const Context& context, const AttentionBackward& op);

// The same by instructions that only GPUs of compute capability 9.0 have, for heads of 64 units.
void wgmma_attention_forward(const Context& context, const AttentionForward& op);
void wgmma_attention_backward(const Context& context, const AttentionBackward& op);

// Chooses the kernel of a GPU's bf16 attention: the wanted one, or, for kFastest, the fastest of
// mma, wgmma and cuDNN's whose results agree. The first call of a kind (head size, dropout or not,
// forward or backward) with enough work runs all of them on its inputs and waits for them.
//
// Results must be mma's up to rounding. If they are not, plain attention judges both. A kernel
// whose results are wrong is left out, which is said on the standard error, and if all are wrong,
// plain attention is chosen. Results that are not finite decide nothing: the next call compares
// again. Calls with less work never decide: they use what was chosen before, or else mma.
class AttentionChoice {
 public:
  // `compared_from`: floating-point operations from which on kernels are compared. Throws Error
  // where the GPU cannot run `wanted`.
  AttentionChoice(AttentionKernel wanted, const cudaDeviceProp& gpu, double compared_from);

  // Returns kPlain, kMma, kWgmma or kCudnn. Throws Error where cuDNN was asked for and has no plan
  // for an operation that it is for.
  AttentionKernel operator()(const Context& context, const AttentionForward& op);
  AttentionKernel operator()(const Context& context, const AttentionBackward& op);
  // After kCudnn was chosen.
  CudnnAttention& cudnn() { return *cudnn_; }

 private:
  struct Found {
    AttentionKernel of_ours;              // plain, mma or wgmma
    std::optional<bool> cudnn_is_faster;  // absent: not tried
  };
  // Heads of 32 and 64, without and with dropout.
  using FoundByKind = std::array<std::array<std::optional<Found>, 2>, 2>;

  template <typename Op>
  AttentionKernel choose(const Context& context, const Op& op, bool aligned, FoundByKind& found);
  // Returns nullopt if results are not finite, which decides nothing.
  template <typename Op>
  std::optional<Found> fastest(const Context& context, const Op& op);
  // Whether cuDNN is there and has a plan, and memory, for this.
  template <typename Op>
  bool cudnn_takes(const Context& context, const Op& op);
  bool has_wgmma(int64_t head_size) const { return gpu_.major == 9 && head_size == 64; }

  AttentionKernel wanted_;
  cudaDeviceProp gpu_;
  double compared_from_;
  std::unique_ptr<CudnnAttention> cudnn_;  // loaded when it might first serve
  bool cudnn_is_missing_ = false;
  FoundByKind forward_, backward_;
};

}  // namespace strata::device::cuda
