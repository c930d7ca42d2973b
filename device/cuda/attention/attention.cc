#include "device/cuda/attention/attention.h"

#include <exception>
#include <type_traits>

#include "base/error.h"
#include "device/cuda/gemm/float8.h"
#include "device/cuda/runtime/alignment.h"
#include "device/cuda/runtime/autotune.h"
#include "device/cuda/runtime/operations.h"

namespace strata::device::cuda {
namespace {

// By any but plain.
void run(AttentionKernel kernel, const Context& context, const AttentionForward& op) {
  if (kernel == AttentionKernel::kMma) return mma_attention_forward(context, op);
  if (kernel == AttentionKernel::kWgmma) return wgmma_attention_forward(context, op);
  context.attention.cudnn().forward(context, op);
}

void run(AttentionKernel kernel, const Context& context, const AttentionBackward& op) {
  if (kernel == AttentionKernel::kMma) return mma_attention_backward(context, op);
  if (kernel == AttentionKernel::kWgmma) return wgmma_attention_backward(context, op);
  context.attention.cudnn().backward(context, op);
}

// An operation that writes elsewhere, to be tried.
template <typename Op>
struct Trial;

template <>
struct Trial<AttentionForward> {
  explicit Trial(const AttentionForward& real) : op(real) {
    op.context.data = context.get<BFloat16>(op.context.size());
    op.log_sum_exp.data = log_sum_exp.get<float>(op.log_sum_exp.size());
    op.context_float8 = {};
  }
  Scratch context, log_sum_exp;
  AttentionForward op;
};

template <>
struct Trial<AttentionBackward> {
  explicit Trial(const AttentionBackward& real) : op(real) {
    op.d_qkv.data = d_qkv.get<BFloat16>(op.d_qkv.size());
    op.d_qkv_float8 = {};
  }
  Scratch d_qkv;
  AttentionBackward op;
};

// Where others are about as fast, all processes choose alike, and have the same bits.
constexpr float kClearly = 0.95f;

}  // namespace

AttentionChoice::AttentionChoice(AttentionKernel wanted, const cudaDeviceProp& gpu)
    : wanted_(wanted), gpu_(gpu) {
  if (wanted == AttentionKernel::kWgmma && gpu.major != 9) {
    fail("cuda: {} has no wgmma instructions, compute capability 9.0 has; choose another attention",
         gpu.name);
  }
  if (wanted == AttentionKernel::kCudnn) cudnn_ = std::make_unique<CudnnAttention>(gpu);
}

template <typename Op>
bool AttentionChoice::cudnn_takes(const Context& context, const Op& op) {
  if (!cudnn_ && !cudnn_is_missing_ && op.dropout.probability == 0.0f &&
      !is_captured(context.stream)) {
    try {
      cudnn_ = std::make_unique<CudnnAttention>(gpu_);
    } catch (const std::exception&) {
      cudnn_is_missing_ = true;
    }
  }
  if (!cudnn_ || !cudnn_->is_for(op)) return false;
  try {
    cudnn_->prepare(context, op);
  } catch (const Error&) {
    if (wanted_ == AttentionKernel::kCudnn) throw;
    return false;
  }
  return true;
}

template <typename Op>
AttentionKernel AttentionChoice::choose(const Context& context, const Op& op, bool aligned,
                                        FoundByKind& found) {
  const int64_t head_size = op.context.cols / op.heads;
  if (wanted_ == AttentionKernel::kPlain || !aligned || (head_size != 64 && head_size != 32)) {
    return AttentionKernel::kPlain;
  }
  if (wanted_ == AttentionKernel::kMma) return wanted_;
  if (wanted_ == AttentionKernel::kWgmma) {
    return has_wgmma(head_size) ? wanted_ : AttentionKernel::kMma;
  }
  if (wanted_ == AttentionKernel::kCudnn && cudnn_takes(context, op)) return wanted_;
  std::optional<Found>& known = found[head_size == 64][op.dropout.probability > 0.0f];
  if (!is_captured(context.stream) &&
      (!known || (!known->cudnn_is_faster && cudnn_takes(context, op)))) {
    known = fastest(context, op);
  }
  if (!known) return AttentionKernel::kMma;
  return known->cudnn_is_faster.value_or(false) && cudnn_takes(context, op)
             ? AttentionKernel::kCudnn
             : known->of_ours;
}

template <typename Op>
AttentionChoice::Found AttentionChoice::fastest(const Context& context, const Op& op) {
  const bool has_wgmma_here = has_wgmma(op.context.cols / op.heads);
  const bool has_cudnn_here = cudnn_takes(context, op);
  Found found{.of_ours = AttentionKernel::kMma};
  if (!has_wgmma_here && !has_cudnn_here) return found;
  const Trial<Op> trial(op);
  const auto time = [&](AttentionKernel kernel) {
    run(kernel, context, trial.op);
    return milliseconds(context.stream, [&] { run(kernel, context, trial.op); });
  };
  float ours = time(AttentionKernel::kMma);
  if (has_wgmma_here) {
    const float of_wgmma = time(AttentionKernel::kWgmma);
    if (ours >= kClearly * of_wgmma) {
      found.of_ours = AttentionKernel::kWgmma;
      ours = of_wgmma;
    }
  }
  if (has_cudnn_here) {
    try {
      found.cudnn_is_faster = time(AttentionKernel::kCudnn) < kClearly * ours;
    } catch (const std::exception&) {
      found.cudnn_is_faster = false;  // it cannot after all
    }
  }
  return found;
}

AttentionKernel AttentionChoice::operator()(const Context& context, const AttentionForward& op) {
  return choose(context, op,
                rows_are_aligned(op.context.cols / op.heads, 8, op.qkv.data, op.context.data),
                forward_);
}

AttentionKernel AttentionChoice::operator()(const Context& context, const AttentionBackward& op) {
  return choose(context, op,
                rows_are_aligned(op.context.cols / op.heads, 8, op.qkv.data, op.context.data,
                                 op.d_context.data, op.d_qkv.data),
                backward_);
}

template <typename T>
void Operations<T>::attention_forward(const Context& context, const AttentionForward& op) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    const AttentionKernel kernel = context.attention(context, op);
    if (kernel != AttentionKernel::kPlain) return run(kernel, context, op);
  }
  plain_attention_forward<T>(context, op);
  write_float8_copy<T>(context, op.context, op.context_float8);
}

template <typename T>
void Operations<T>::attention_backward(const Context& context, const AttentionBackward& op) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    const AttentionKernel kernel = context.attention(context, op);
    if (kernel != AttentionKernel::kPlain) return run(kernel, context, op);
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
template void Operations<Float16>::attention_forward(const Context&, const AttentionForward&);
template void Operations<Float16>::attention_backward(const Context&, const AttentionBackward&);

}  // namespace strata::device::cuda
