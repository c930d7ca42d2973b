// In place of cuDNN: plain attention, where cuDNN is asked for what it can do, and what it is told
// of the sequences is right.
#include "device/cuda/cudnn_attention.h"

#include <cuda_runtime.h>

#include "base/error.h"
#include "device/cuda/attention.h"
#include "device/cuda/packed_offsets.h"

namespace strata::device::cuda {

struct CudnnAttention::State {
  const void* taken = nullptr;  // the queries of the operation that it was last asked about
  Scratch memory[4];

  template <typename Op>
  void check(const Context& context, const Op& op);
};

namespace {

bool can_be_done(const AttentionForward& op) {
  return op.dropout.probability == 0.0f && !op.context_float8;
}
bool can_be_done(const AttentionBackward& op) {
  return op.dropout.probability == 0.0f && !op.d_qkv_float8;
}

}  // namespace

template <typename Op>
void CudnnAttention::State::check(const Context& context, const Op& op) {
  if (!can_be_done(op) || taken != op.qkv.data) fail("cuDNN was not asked about an operation");
  const int64_t sequences = op.sequences.count, hidden = op.context.cols;
  const PackedOffsets offsets{
      memory[0].get<int32_t>(sequences), memory[1].get<int32_t>(sequences + 1),
      memory[2].get<int32_t>(sequences + 1), memory[3].get<int32_t>(sequences + 1)};
  write_packed_offsets(context, op.sequences, static_cast<int32_t>(hidden), op.heads, offsets);
  for (int64_t i = 0; i <= sequences; ++i) {
    const int64_t begin = op.sequences.cu_seqlens[i];
    if (offsets.qkv[i] != 3 * hidden * begin || offsets.context[i] != hidden * begin ||
        offsets.statistics[i] != op.heads * begin ||
        (i < sequences && begin + offsets.lengths[i] != op.sequences.cu_seqlens[i + 1])) {
      fail("cuDNN is told wrong places of sequence {}", i);
    }
  }
  ++emulated_cuda::cudnn_operations;
}

CudnnAttention::CudnnAttention(const cudaDeviceProp&) : state_(std::make_unique<State>()) {}
CudnnAttention::~CudnnAttention() = default;

bool CudnnAttention::takes(const Context&, const AttentionForward& op) {
  state_->taken = op.qkv.data;
  return can_be_done(op);
}
bool CudnnAttention::takes(const Context&, const AttentionBackward& op) {
  state_->taken = op.qkv.data;
  return can_be_done(op);
}
void CudnnAttention::forward(const Context& context, const AttentionForward& op) {
  state_->check(context, op);
  plain_attention_forward<BFloat16>(context, op);
}
void CudnnAttention::backward(const Context& context, const AttentionBackward& op) {
  state_->check(context, op);
  plain_attention_backward<BFloat16>(context, op);
}

}  // namespace strata::device::cuda
