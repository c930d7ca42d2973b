// Replaces cuDNN with plain attention. Checks that cuDNN is asked only for supported operations,
// with correct descriptions of the sequences.
#include "device/cuda/attention/cudnn/cudnn_attention.h"

#include <cuda_runtime.h>

#include "base/error.h"
#include "device/cuda/attention/attention.h"
#include "device/cuda/attention/cudnn/cudnn_workspace.h"
#include "device/cuda/attention/packed_offsets.h"
#include "device/cuda/runtime/autotune.h"
#include "tests/emulated_cuda/cudnn_attention.h"

namespace strata::device::cuda {

struct CudnnAttention::State {
  const void* prepared = nullptr;  // queries of the latest prepared operation
  Scratch memory[4];
  CudnnWorkspace workspace;

  template <typename Op>
  bool prepare(const Context& context, const Op& op);
  template <typename Op>
  void check(const Context& context, const Op& op);
};

namespace {

template <typename Op>
Op as_computed(Op op) {
  if (emulated_cuda::cudnn_is_wrong) op.dropout.probability = 0.5f;
  return op;
}

bool can_be_done(const AttentionForward& op) {
  return op.dropout.probability == 0.0f && !op.context_float8;
}
bool can_be_done(const AttentionBackward& op) {
  return op.dropout.probability == 0.0f && !op.d_qkv_float8;
}

}  // namespace

template <typename Op>
bool CudnnAttention::State::prepare(const Context& context, const Op& op) {
  if (emulated_cuda::cudnn_has_no_plans || is_captured(context.stream)) fail("cuDNN has no plan");
  prepared = op.qkv.data;
  return workspace.reserve(context, emulated_cuda::cudnn_workspace_bytes);
}

template <typename Op>
void CudnnAttention::State::check(const Context& context, const Op& op) {
  if (!can_be_done(op) || prepared != op.qkv.data) fail("cuDNN was not asked about an operation");
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
CudnnAttention::~CudnnAttention() {
  // cuDNN's handle uses a stream, which must still exist.
  emulated_cuda::require(!state_->prepared || emulated_cuda::streams > 0,
                         "cuDNN's handle to be destroyed before its stream");
}

bool CudnnAttention::is_for(const AttentionForward& op) const { return can_be_done(op); }
bool CudnnAttention::is_for(const AttentionBackward& op) const { return can_be_done(op); }

bool CudnnAttention::prepare(const Context& context, const AttentionForward& op) {
  return state_->prepare(context, op);
}
bool CudnnAttention::prepare(const Context& context, const AttentionBackward& op) {
  return state_->prepare(context, op);
}
void CudnnAttention::forward(const Context& context, const AttentionForward& op) {
  state_->check(context, op);
  plain_attention_forward<BFloat16>(context, as_computed(op));
}
void CudnnAttention::backward(const Context& context, const AttentionBackward& op) {
  state_->check(context, op);
  plain_attention_backward<BFloat16>(context, as_computed(op), RowMean::kOfContext);
}

}  // namespace strata::device::cuda
