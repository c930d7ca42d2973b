// Self-attention, one head of one sequence at a time, because its scores fit the second-level
// cache.
#include <algorithm>
#include <cstring>

#include "device/cpu/bf16/attention_kernels.h"
#include "device/cpu/float8.h"
#include "device/cpu/gemm/matmul.h"
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

// A [length, d] matrix of one head inside a [T, columns] tensor.
template <typename T>
struct HeadView {
  T* data;
  int64_t stride;
};

// Layout of a head's matrices for the GEMMs. f32 GEMMs read the packed tensors in place. 16-bit
// GEMMs are compiled for their shape (bf16) or widened (f16), so heads are copied to [padded, d].
// `padded` is a multiple of 32, with zeros in the extra rows, so that a few shapes serve every
// length.
template <typename T>
struct HeadLayout {
  static constexpr bool kInPlace = sizeof(T) == 4;

  int64_t length, padded, d;

  HeadLayout(int64_t length_, int64_t d_)
      : length(length_), padded(kInPlace ? length_ : round_up(length_, 32)), d(d_) {}

  HeadView<const T> input(HeadView<const T> view, T* copy) const {
    if constexpr (kInPlace) return view;
    for (int64_t row = 0; row < length; ++row) {
      std::memcpy(copy + row * d, view.data + row * view.stride,
                  static_cast<size_t>(d) * sizeof(T));
    }
    std::fill_n(copy + length * d, (padded - length) * d, T{});
    return {copy, d};
  }
  HeadView<T> output(HeadView<T> view, T* copy) const {
    if constexpr (kInPlace) return view;
    return {copy, d};
  }
  void finish(HeadView<T> view, const T* copy) const {
    if constexpr (kInPlace) return;
    for (int64_t row = 0; row < length; ++row) {
      std::memcpy(view.data + row * view.stride, copy + row * d,
                  static_cast<size_t>(d) * sizeof(T));
    }
  }
};

// scores[padded, padded] = a b^T, in f32.
template <typename T>
void scores_gemm(const HeadLayout<T>& layout, HeadView<const T> a, HeadView<const T> b,
                 float* scores) {
  matmul({.transpose_b = true,
          .m = layout.padded,
          .n = layout.padded,
          .k = layout.d,
          .a = a.data,
          .lda = a.stride,
          .b = b.data,
          .ldb = b.stride,
          .c = scores,
          .ldc = layout.padded,
          .input_dtype = dtype_of<T>(),
          .output_dtype = DType::kF32});
}

// out[padded, d] = weights x, or weights^T x.
template <typename T>
void values_gemm(const HeadLayout<T>& layout, const T* weights, bool transpose, HeadView<const T> x,
                 HeadView<T> out) {
  matmul({.transpose_a = transpose,
          .m = layout.padded,
          .n = layout.d,
          .k = layout.padded,
          .a = weights,
          .lda = layout.padded,
          .b = x.data,
          .ldb = x.stride,
          .c = out.data,
          .ldc = out.stride,
          .input_dtype = dtype_of<T>(),
          .output_dtype = dtype_of<T>()});
}

// One thread's memory for one head. f32 shares memory of scores and probabilities, because its
// softmax works in place.
template <typename T>
struct HeadScratch {
  float *scores, *d_probabilities, *row;
  T *probabilities, *d_scores;
  T *query, *key, *value, *d_out, *result;

  explicit HeadScratch(const HeadLayout<T>& layout) {
    static PerThread<std::array<Scratch, 2>> scratch;
    auto& [floats, bf16_scratch] = scratch.get();
    const int64_t square = layout.padded * layout.padded, head = layout.padded * layout.d;
    const int64_t row_floats = scratch_floats(layout.padded);
    scores = floats.get<float>(2 * square + row_floats);
    d_probabilities = scores + square;
    row = d_probabilities + square;
    if constexpr (HeadLayout<T>::kInPlace) {
      probabilities = scores;
      d_scores = d_probabilities;
      query = key = value = d_out = result = nullptr;
    } else {
      probabilities = bf16_scratch.get<T>(2 * square + 5 * head);
      d_scores = probabilities + square;
      query = d_scores + square;
      key = query + head;
      value = key + head;
      d_out = value + head;
      result = d_out + head;
    }
  }
};

struct HeadPlace {
  int64_t first, length, hidden, d, head;
  template <typename T>
  HeadView<T> of(T* tensor, int64_t columns, int64_t part) const {
    return {tensor + first * columns + part * hidden + head * d, columns};
  }
};

template <typename Op>
HeadPlace place_of(const Op& op, int64_t sequence, int64_t head) {
  const int64_t first = op.sequences.cu_seqlens[sequence];
  const int64_t hidden = op.qkv.cols / 3;
  return {first, op.sequences.cu_seqlens[sequence + 1] - first, hidden, hidden / op.heads, head};
}

template <typename T>
struct QueryKeyValue {
  HeadView<const T> query, key, value;
};

template <typename T, typename Op>
QueryKeyValue<T> query_key_value(const Op& op, const HeadPlace& place, const HeadLayout<T>& layout,
                                 const HeadScratch<T>& scratch) {
  const auto part = [&](int64_t index, T* copy) {
    return layout.input(place.of(op.qkv.template as<T>(), op.qkv.cols, index), copy);
  };
  return {part(0, scratch.query), part(1, scratch.key), part(2, scratch.value)};
}

template <typename Op>
SoftmaxRows softmax_rows(const Op& op, const HeadPlace& place, int64_t sequence, int64_t padded,
                         float* scores) {
  return {.length = place.length,
          .padded = padded,
          .scale = 1.0f / __builtin_sqrtf(static_cast<float>(place.d)),
          .dropout = op.dropout,
          .sample_id = op.dropout.probability > 0.0f ? op.sequences.sample_ids[sequence] : 0,
          .head = static_cast<uint32_t>(place.head),
          .scores = scores,
          .log_sum_exp = const_cast<float*>(op.log_sum_exp.template as<float>()) +
                         place.first * op.heads + place.head,
          .log_sum_exp_stride = op.heads};
}

// Rows beyond the sequence take part in GEMMs over keys, so they must be zero.
template <typename T>
void zero_rows(const HeadLayout<T>& layout, T* matrix) {
  const int64_t used = layout.length * layout.padded;
  std::fill_n(matrix + used, layout.padded * layout.padded - used, T{});
}

// Returns specialised kernels for heads of this size, or null. They require bf16 and a processor
// that supports them.
template <typename T>
const Bf16Attention* attention_kernels(int64_t d) {
  if constexpr (dtype_of<T>() == DType::kBF16) {
    if (bf16_attention_takes(d) && multiplies_bf16_pairs()) return &bf16_attention();
  }
  return nullptr;
}

// Converts a head to the kernels' arguments.
template <typename Op>
AttentionHead head_of(const Op& op, const HeadPlace& place, int64_t sequence) {
  const SoftmaxRows rows = softmax_rows(op, place, sequence, 0, nullptr);
  const auto part = [&](int64_t index) {
    return place.of(op.qkv.template as<uint16_t>(), op.qkv.cols, index).data;
  };
  return {.length = place.length,
          .d = place.d,
          .query = part(0),
          .key = part(1),
          .value = part(2),
          .stride = op.qkv.cols,
          .dropout = rows.dropout,
          .sample_id = rows.sample_id,
          .head = rows.head,
          .log_sum_exp = rows.log_sum_exp,
          .log_sum_exp_stride = rows.log_sum_exp_stride};
}

Scratch& head_scratch() {
  static PerThread<Scratch> scratch;
  return scratch.get();
}

void forward_of_head(const Bf16Attention& kernels, const AttentionForward& op,
                     const HeadPlace& place, int64_t sequence) {
  char* scratch = head_scratch().get<char>(kernels.forward_scratch(place.length, place.d));
  const auto out = place.of(op.context.as<uint16_t>(), place.hidden, 0);
  kernels.forward(head_of(op, place, sequence), out.data, out.stride, scratch);
}

void backward_of_head(const Bf16Attention& kernels, const AttentionBackward& op,
                      const Tensor& d_qkv, const HeadPlace& place, int64_t sequence) {
  char* scratch = head_scratch().get<char>(kernels.backward_scratch(place.length, place.d));
  const auto d_context = place.of(op.d_context.as<uint16_t>(), place.hidden, 0);
  const auto part = [&](int64_t index) {
    return place.of(d_qkv.as<uint16_t>(), d_qkv.cols, index).data;
  };
  kernels.backward(head_of(op, place, sequence),
                   {.d_context = d_context.data,
                    .d_context_stride = d_context.stride,
                    .d_query = part(0),
                    .d_key = part(1),
                    .d_value = part(2),
                    .d_stride = d_qkv.cols},
                   scratch);
}

}  // namespace

template <typename T>
void Operations<T>::attention_forward(const Context& context, const AttentionForward& op) {
  const Bf16Attention* kernels = attention_kernels<T>(op.qkv.cols / 3 / op.heads);
  for_each_head(context, op.sequences, op.heads, [&](int64_t sequence, int64_t head) {
    const HeadPlace place = place_of(op, sequence, head);
    if (kernels != nullptr) return forward_of_head(*kernels, op, place, sequence);
    const HeadLayout<T> layout(place.length, place.d);
    const HeadScratch<T> scratch(layout);
    const auto [query, key, value] = query_key_value(op, place, layout, scratch);
    scores_gemm<T>(layout, query, key, scratch.scores);
    context.typed<T>().softmax_forward(
        softmax_rows(op, place, sequence, layout.padded, scratch.scores), scratch.probabilities,
        scratch.row);
    zero_rows(layout, scratch.probabilities);
    const auto out = place.of(op.context.as<T>(), place.hidden, 0);
    values_gemm<T>(layout, scratch.probabilities, false, value, layout.output(out, scratch.result));
    layout.finish(out, scratch.result);
  });
  write_copy<T>(context, op.context, op.context_float8);
}

template <typename T>
void Operations<T>::attention_backward(const Context& context, const AttentionBackward& op) {
  const Tensor d_qkv = place_of_output<T>(context, op.d_qkv, 5);
  const Bf16Attention* kernels = attention_kernels<T>(op.qkv.cols / 3 / op.heads);
  for_each_head(context, op.sequences, op.heads, [&](int64_t sequence, int64_t head) {
    const HeadPlace place = place_of(op, sequence, head);
    if (kernels != nullptr) {
      return backward_of_head(*kernels, op, d_qkv, place, sequence);
    }
    const HeadLayout<T> layout(place.length, place.d);
    const HeadScratch<T> scratch(layout);
    const auto [query, key, value] = query_key_value(op, place, layout, scratch);
    const auto d_context = place.of(op.d_context.as<T>(), place.hidden, 0);
    const auto d_out = layout.input(d_context, scratch.d_out);
    scores_gemm<T>(layout, query, key, scratch.scores);
    scores_gemm<T>(layout, d_out, value, scratch.d_probabilities);
    context.typed<T>().softmax_backward(
        softmax_rows(op, place, sequence, layout.padded, scratch.scores), scratch.d_probabilities,
        scratch.probabilities, scratch.d_scores, scratch.row);
    zero_rows(layout, scratch.probabilities);
    zero_rows(layout, scratch.d_scores);
    const auto emit = [&](int64_t part, const T* weights, bool transpose, HeadView<const T> x) {
      const auto out = place.of(d_qkv.as<T>(), d_qkv.cols, part);
      values_gemm<T>(layout, weights, transpose, x, layout.output(out, scratch.result));
      layout.finish(out, scratch.result);
    };
    emit(0, scratch.d_scores, false, key);
    emit(1, scratch.d_scores, true, query);
    emit(2, scratch.probabilities, true, d_out);
  });
  write_copy<T>(context, d_qkv, op.d_qkv_float8);
}

STRATA_INSTANTIATE(attention_forward, AttentionForward);
STRATA_INSTANTIATE(attention_backward, AttentionBackward);

}  // namespace strata::device::cpu
