#include "device/cuda/attention.h"

#include <type_traits>

#include "base/error.h"
#include "device/cuda/alignment.h"
#include "device/cuda/float8.h"
#include "device/cuda/operations.h"
#include "device/cuda/trial.h"

namespace strata::device::cuda {
namespace {

// Of two that have not been called before.
template <typename Op>
AttentionKernel faster(const Context& context, const Op& op, void (*mma)(const Context&, const Op&),
                       void (*wgmma)(const Context&, const Op&)) {
  const auto time = [&](auto* kernel) {
    kernel(context, op);
    return milliseconds(context.stream, [&] { kernel(context, op); });
  };
  const float of_mma = time(mma), of_wgmma = time(wgmma);
  // Where they are about as fast, all processes choose alike, and have the same bits.
  return of_mma < 0.95f * of_wgmma ? AttentionKernel::kMma : AttentionKernel::kWgmma;
}

}  // namespace

AttentionChoice::AttentionChoice(AttentionKernel wanted, const cudaDeviceProp& gpu)
    : wanted_(wanted), has_wgmma_(gpu.major == 9) {
  if (wanted == AttentionKernel::kWgmma && !has_wgmma_) {
    fail("cuda: {} has no wgmma instructions, compute capability 9.0 has; choose another attention",
         gpu.name);
  }
}

template <typename Measure>
AttentionKernel AttentionChoice::choose(const Context& context, int64_t head_size, bool aligned,
                                        std::optional<AttentionKernel>& known,
                                        const Measure& measure) const {
  if (wanted_ == AttentionKernel::kPlain || !aligned || (head_size != 64 && head_size != 32)) {
    return AttentionKernel::kPlain;
  }
  if (!has_wgmma_ || head_size != 64) return AttentionKernel::kMma;
  if (wanted_ != AttentionKernel::kFastest) return wanted_;
  if (known) return *known;
  if (is_captured(context.stream)) return AttentionKernel::kMma;
  known = measure();
  return *known;
}

AttentionKernel AttentionChoice::operator()(const Context& context, const AttentionForward& op) {
  const int64_t size = op.context.cols / op.heads;
  const bool aligned = rows_are_aligned(size, 8, op.qkv.data, op.context.data);
  return choose(context, size, aligned, forward_[op.dropout.probability > 0.0f], [&] {
    AttentionForward trial = op;
    Scratch outputs[2];
    trial.context.data = outputs[0].get<BFloat16>(op.context.size());
    trial.log_sum_exp.data = outputs[1].get<float>(op.log_sum_exp.size());
    trial.context_float8 = {};
    return faster(context, trial, mma_attention_forward, wgmma_attention_forward);
  });
}

AttentionKernel AttentionChoice::operator()(const Context& context, const AttentionBackward& op) {
  const int64_t size = op.context.cols / op.heads;
  const bool aligned =
      rows_are_aligned(size, 8, op.qkv.data, op.context.data, op.d_context.data, op.d_qkv.data);
  return choose(context, size, aligned, backward_[op.dropout.probability > 0.0f], [&] {
    AttentionBackward trial = op;
    Scratch output;
    trial.d_qkv.data = output.get<BFloat16>(op.d_qkv.size());
    trial.d_qkv_float8 = {};
    return faster(context, trial, mma_attention_backward, wgmma_attention_backward);
  });
}

template <typename T>
void Operations<T>::attention_forward(const Context& context, const AttentionForward& op) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    const AttentionKernel kernel = context.attention(context, op);
    if (kernel == AttentionKernel::kMma) return mma_attention_forward(context, op);
    if (kernel == AttentionKernel::kWgmma) return wgmma_attention_forward(context, op);
  }
  plain_attention_forward<T>(context, op);
  write_float8_copy<T>(context, op.context, op.context_float8);
}

template <typename T>
void Operations<T>::attention_backward(const Context& context, const AttentionBackward& op) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    const AttentionKernel kernel = context.attention(context, op);
    if (kernel == AttentionKernel::kMma) return mma_attention_backward(context, op);
    if (kernel == AttentionKernel::kWgmma) return wgmma_attention_backward(context, op);
  }
  AttentionBackward placed = op;
  placed.d_qkv = place_of_output(context, op.d_qkv, 1);
  plain_attention_backward<T>(context, placed);
  write_float8_copy<T>(context, placed.d_qkv, op.d_qkv_float8);
}

template void Operations<float>::attention_forward(const Context&, const AttentionForward&);
template void Operations<BFloat16>::attention_forward(const Context&, const AttentionForward&);
template void Operations<float>::attention_backward(const Context&, const AttentionBackward&);
template void Operations<BFloat16>::attention_backward(const Context&, const AttentionBackward&);

}  // namespace strata::device::cuda
