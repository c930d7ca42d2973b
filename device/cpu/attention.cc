// Self-attention, one head of one sequence at a time.
#include "device/cpu/gemm/attention.h"

#include "device/cpu/bf16/attention_kernels.h"
#include "device/cpu/float8.h"
#include "device/cpu/gemm/matmul.h"
#include "device/cpu/gemm/widen.h"
#include "device/cpu/operations.h"

namespace strata::device::cpu {
namespace {

// Calls work(sequence, head) for all pairs, longest sequences first. Threads take pairs one by one,
// because sequence lengths vary.
template <typename Work>
void for_each_head(const Context& context, const Sequences& sequences, int32_t heads,
                   const Work& work) {
  parallel_tasks(context.threads, int64_t{sequences.count} * heads,
                 [&](int64_t pair) { work(pair / heads, pair % heads); });
}

// Finds the matrices of one head and sequence in packed tensors.
struct HeadPlace {
  int64_t first, length, hidden, d, head;

  template <typename Op>
  HeadPlace(const Op& op, int64_t sequence, int64_t head_)
      : first(op.sequences.cu_seqlens[sequence]),
        length(op.sequences.cu_seqlens[sequence + 1] - first),
        hidden(op.qkv.cols / 3),
        d(hidden / op.heads),
        head(head_) {}

  // part: 0 queries, 1 keys, 2 values. For a tensor of `hidden` columns: 0.
  template <typename T>
  T* of(T* tensor, int64_t columns, int64_t part) const {
    return tensor + first * columns + part * hidden + head * d;
  }
};

template <typename T, typename Op>
AttentionHead<T> head_of(const Op& op, const HeadPlace& place, int64_t sequence) {
  const auto part = [&](int64_t index) {
    return place.of(op.qkv.template as<T>(), op.qkv.cols, index);
  };
  return {{.length = place.length,
           .d = place.d,
           .dropout = op.dropout,
           .sample_id = op.dropout.probability > 0.0f ? op.sequences.sample_ids[sequence] : 0,
           .head = static_cast<uint32_t>(place.head),
           .log_sum_exp = const_cast<float*>(op.log_sum_exp.template as<float>()) +
                          place.first * op.heads + place.head,
           .log_sum_exp_stride = op.heads},
          part(0),
          part(1),
          part(2),
          op.qkv.cols};
}

template <typename T>
AttentionHeadGradients<T> gradients_of(const AttentionBackward& op, const Tensor& d_qkv,
                                       const HeadPlace& place) {
  const auto part = [&](int64_t index) { return place.of(d_qkv.as<T>(), d_qkv.cols, index); };
  return {.d_context = place.of(op.d_context.as<T>(), place.hidden, 0),
          .d_context_stride = place.hidden,
          .d_query = part(0),
          .d_key = part(1),
          .d_value = part(2),
          .d_stride = d_qkv.cols};
}

// The calling thread's f32 copies of a head's 16-bit matrices. Each is [length, d].
class WidenedHead {
 public:
  WidenedHead(int64_t length, int64_t d) : length_(length), d_(d) {
    static PerThread<Scratch> scratch;
    memory_ = scratch.get().get<float>(kMatrices * length * d);
  }

  template <typename T>
  AttentionHead<float> head(const AttentionHead<T>& narrow) {
    return {narrow, widened(0, narrow.query, narrow.stride), widened(1, narrow.key, narrow.stride),
            widened(2, narrow.value, narrow.stride), d_};
  }
  template <typename T>
  AttentionHeadGradients<float> gradients(const AttentionHeadGradients<T>& narrow) {
    return {.d_context = widened(3, narrow.d_context, narrow.d_context_stride),
            .d_context_stride = d_,
            .d_query = copy(4),
            .d_key = copy(5),
            .d_value = copy(6),
            .d_stride = d_};
  }
  float* context() { return copy(3); }

  template <typename T>
  void round(const float* from, T* to, int64_t stride) const {
    narrow(from, length_, d_, to, stride);
  }

 private:
  static constexpr int64_t kMatrices = 7;

  float* copy(int64_t index) { return memory_ + index * length_ * d_; }
  template <typename T>
  const float* widened(int64_t index, const T* from, int64_t stride) {
    widen(from, length_, d_, stride, copy(index));
    return copy(index);
  }

  int64_t length_, d_;
  float* memory_;
};

// Returns the kernels for heads of size d that take elements of type T as they are, or null.
template <typename T>
const AttentionKernels<T>* attention_kernels(const Context& context, int64_t d) {
  if constexpr (dtype_of<T>() == DType::kF32) return &context.kernels.attention;
  if constexpr (dtype_of<T>() == DType::kBF16) {
    if (bf16_attention_takes(d) && multiplies_bf16_pairs()) return &bf16_attention();
    if (bf16_is_native()) return &matmul_attention();
  }
  return nullptr;
}

char* head_scratch(int64_t bytes) {
  static PerThread<Scratch> scratch;
  return scratch.get().get<char>(bytes);
}

template <typename T>
void forward(const AttentionKernels<T>& kernels, const AttentionHead<T>& head, T* out,
             int64_t stride) {
  kernels.forward(head, out, stride, head_scratch(kernels.forward_scratch(head.length, head.d)));
}

template <typename T>
void backward(const AttentionKernels<T>& kernels, const AttentionHead<T>& head,
              const AttentionHeadGradients<T>& gradients) {
  kernels.backward(head, gradients, head_scratch(kernels.backward_scratch(head.length, head.d)));
}

}  // namespace

template <typename T>
void Operations<T>::attention_forward(const Context& context, const AttentionForward& op) {
  const auto* kernels = attention_kernels<T>(context, op.qkv.cols / 3 / op.heads);
  for_each_head(context, op.sequences, op.heads, [&](int64_t sequence, int64_t index) {
    const HeadPlace place(op, sequence, index);
    const AttentionHead<T> head = head_of<T>(op, place, sequence);
    T* out = place.of(op.context.as<T>(), place.hidden, 0);
    if (kernels != nullptr) return forward(*kernels, head, out, place.hidden);
    if constexpr (dtype_of<T>() != DType::kF32) {
      WidenedHead widened(place.length, place.d);
      forward(context.kernels.attention, widened.head(head), widened.context(), place.d);
      widened.round(widened.context(), out, place.hidden);
    }
  });
  write_copy<T>(context, op.context, op.context_float8);
}

template <typename T>
void Operations<T>::attention_backward(const Context& context, const AttentionBackward& op) {
  const Tensor d_qkv = place_of_output<T>(context, op.d_qkv, 5);
  const auto* kernels = attention_kernels<T>(context, op.qkv.cols / 3 / op.heads);
  for_each_head(context, op.sequences, op.heads, [&](int64_t sequence, int64_t index) {
    const HeadPlace place(op, sequence, index);
    const AttentionHead<T> head = head_of<T>(op, place, sequence);
    const AttentionHeadGradients<T> gradients = gradients_of<T>(op, d_qkv, place);
    if (kernels != nullptr) return backward(*kernels, head, gradients);
    if constexpr (dtype_of<T>() != DType::kF32) {
      WidenedHead widened(place.length, place.d);
      const AttentionHeadGradients<float> in_f32 = widened.gradients(gradients);
      backward(context.kernels.attention, widened.head(head), in_f32);
      widened.round(in_f32.d_query, gradients.d_query, gradients.d_stride);
      widened.round(in_f32.d_key, gradients.d_key, gradients.d_stride);
      widened.round(in_f32.d_value, gradients.d_value, gradients.d_stride);
    }
  });
  write_copy<T>(context, d_qkv, op.d_qkv_float8);
}

STRATA_INSTANTIATE(attention_forward, AttentionForward);
STRATA_INSTANTIATE(attention_backward, AttentionBackward);

}  // namespace strata::device::cpu
