// Plain self-attention within each sequence: a warp takes one query (or key) of one head and keeps
// its scores in shared memory. It checks faster kernels.
#include "device/cuda/attention/attention.h"
#include "device/cuda/runtime/kernel.h"
#include "device/cuda/runtime/rows.h"

namespace strata::device::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / kWarpSize;
constexpr int kLongest = 512;  // maximum tokens of a sequence
constexpr int kLargest = 128;  // maximum units of a head

// One head of the sequence of a token.
struct Head {
  int first, length;  // tokens
  int position;       // position of the token in its sequence
  int index;          // index of the head
  int size;
  int64_t hidden;
  float scale;
  Dropout dropout;
  uint64_t sample_id;

  // `pair` counts token x heads.
  __device__ Head(const Sequences& sequences, const Dropout& dropout_, int64_t hidden_, int heads,
                  int64_t pair)
      : index(static_cast<int>(pair % heads)),
        size(static_cast<int>(hidden_ / heads)),
        hidden(hidden_),
        scale(rsqrtf(static_cast<float>(size))),
        dropout{dropout_.probability, dropout_.step_key.now(), dropout_.place} {
    const int token = static_cast<int>(pair / heads);
    const int sequence = sequence_of(sequences, token);
    first = sequences.cu_seqlens[sequence];
    length = sequences.cu_seqlens[sequence + 1] - first;
    position = token - first;
    sample_id = sequences.sample_ids[sequence];
  }

  // Returns the head's part of a row of qkv [T, 3 hidden] (0 query, 1 key, 2 value), or of [T,
  // hidden].
  template <typename T>
  __device__ const T* of_qkv(const T* qkv, int at, int part) const {
    return qkv + (int64_t{first} + at) * 3 * hidden + part * hidden + int64_t{index} * size;
  }
  template <typename T>
  __device__ T* of_context(T* context, int at) const {
    return context + (int64_t{first} + at) * hidden + int64_t{index} * size;
  }
  __device__ int64_t statistic(int heads, int at) const {
    return (int64_t{first} + at) * heads + index;
  }
  __device__ float dropout_at(int query, int key) const {
    return dropout_factor(dropout, sample_id, static_cast<uint32_t>(index * 65536 + query),
                          static_cast<uint32_t>(key));
  }
};

template <typename T>
__device__ float dot(const float* a, const T* b, int size) {
  float sum = 0.0f;
  for (int d = 0; d < size; ++d) sum += a[d] * static_cast<float>(b[d]);
  return sum;
}

// Copies one head's row for this warp.
template <typename T>
__device__ void copy_row(const T* row, int size, float* copy) {
  for (int d = lane(); d < size; d += kWarpSize) copy[d] = static_cast<float>(row[d]);
}

template <typename T>
__global__ void __launch_bounds__(kThreads) forward_kernel(AttentionForward op, int64_t pairs) {
  __shared__ float probabilities[kWarps][kLongest];
  __shared__ float queries[kWarps][kLargest];
  const int64_t pair = int64_t{blockIdx.x} * kWarps + warp();
  if (pair >= pairs) return;
  const Head head(op.sequences, op.dropout, op.context.cols, op.heads, pair);
  float *p = probabilities[warp()], *query = queries[warp()];
  const T* qkv = op.qkv.as<T>();
  copy_row(head.of_qkv(qkv, head.position, 0), head.size, query);
  __syncwarp();
  float highest = -INFINITY;
  for (int key = lane(); key < head.length; key += kWarpSize) {
    p[key] = head.scale * dot(query, head.of_qkv(qkv, key, 1), head.size);
    highest = fmaxf(highest, p[key]);
  }
  highest = warp_max(highest);
  float sum = 0.0f;
  for (int key = lane(); key < head.length; key += kWarpSize) sum += expf(p[key] - highest);
  const float log_sum_exp = highest + logf(warp_sum(sum));
  for (int key = lane(); key < head.length; key += kWarpSize) {
    p[key] = expf(p[key] - log_sum_exp) * head.dropout_at(head.position, key);
  }
  __syncwarp();
  T* context = head.of_context(op.context.as<T>(), head.position);
  for (int d = lane(); d < head.size; d += kWarpSize) {
    float value = 0.0f;
    for (int key = 0; key < head.length; ++key) {
      value += p[key] * static_cast<float>(head.of_qkv(qkv, key, 2)[d]);
    }
    context[d] = T(value);
  }
  if (lane() == 0)
    op.log_sum_exp.as<float>()[head.statistic(op.heads, head.position)] = log_sum_exp;
}

// One pair's probability before dropout, its dropout factor, and the gradient of the probability.
struct PairGradient {
  float probability, factor, d_probability;

  __device__ PairGradient(const Head& head, int query, int key, float score, float log_sum_exp,
                          float d_context_dot_value)
      : probability(expf(head.scale * score - log_sum_exp)),
        factor(head.dropout_at(query, key)),
        d_probability(factor * d_context_dot_value) {}

  // `delta`: the mean of the row's gradients, weighted by probability.
  __device__ float d_score(const Head& head, float delta) const {
    return probability * (d_probability - delta) * head.scale;
  }
};

// Computes deltas[T, heads], the mean over keys of a row's gradients, weighted by probability.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    query_gradient_kernel(AttentionBackward op, int64_t pairs, RowMean mean, float* deltas) {
  __shared__ float d_scores[kWarps][kLongest], probabilities[kWarps][kLongest];
  __shared__ float queries[kWarps][kLargest], d_contexts[kWarps][kLargest];
  const int64_t pair = int64_t{blockIdx.x} * kWarps + warp();
  if (pair >= pairs) return;
  const Head head(op.sequences, op.dropout, op.context.cols, op.heads, pair);
  float *d_score = d_scores[warp()], *p = probabilities[warp()];
  float *query = queries[warp()], *d_context = d_contexts[warp()];
  const T* qkv = op.qkv.as<T>();
  copy_row(head.of_qkv(qkv, head.position, 0), head.size, query);
  copy_row(head.of_context(op.d_context.as<T>(), head.position), head.size, d_context);
  __syncwarp();
  const float log_sum_exp = op.log_sum_exp.as<float>()[head.statistic(op.heads, head.position)];
  float sum = 0.0f, weighted = 0.0f;
  for (int key = lane(); key < head.length; key += kWarpSize) {
    const PairGradient gradient(head, head.position, key,
                                dot(query, head.of_qkv(qkv, key, 1), head.size), log_sum_exp,
                                dot(d_context, head.of_qkv(qkv, key, 2), head.size));
    p[key] = gradient.probability;
    d_score[key] = gradient.d_probability;
    sum += gradient.probability;
    weighted += gradient.probability * gradient.d_probability;
  }
  if (mean == RowMean::kOfContext) {
    const T* of_context = head.of_context(op.context.as<T>(), head.position);
    sum = lane() == 0 ? 1.0f : 0.0f;
    weighted = 0.0f;
    for (int d = lane(); d < head.size; d += kWarpSize) {
      weighted += static_cast<float>(of_context[d]) * d_context[d];
    }
  }
  const float delta = warp_sum(weighted) / warp_sum(sum);
  if (lane() == 0) deltas[pair] = delta;
  for (int key = lane(); key < head.length; key += kWarpSize) {
    d_score[key] = p[key] * (d_score[key] - delta) * head.scale;
  }
  __syncwarp();
  T* d_query = const_cast<T*>(head.of_qkv(op.d_qkv.as<const T>(), head.position, 0));
  for (int d = lane(); d < head.size; d += kWarpSize) {
    float gradient = 0.0f;
    for (int key = 0; key < head.length; ++key) {
      gradient += d_score[key] * static_cast<float>(head.of_qkv(qkv, key, 1)[d]);
    }
    d_query[d] = T(gradient);
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    key_value_gradient_kernel(AttentionBackward op, int64_t pairs, const float* deltas) {
  __shared__ float d_scores[kWarps][kLongest], probabilities[kWarps][kLongest];
  __shared__ float keys[kWarps][kLargest], values[kWarps][kLargest];
  const int64_t pair = int64_t{blockIdx.x} * kWarps + warp();
  if (pair >= pairs) return;
  const Head head(op.sequences, op.dropout, op.context.cols, op.heads, pair);
  float *d_score = d_scores[warp()], *p = probabilities[warp()];
  float *key = keys[warp()], *value = values[warp()];
  const T *qkv = op.qkv.as<T>(), *d_context = op.d_context.as<T>();
  copy_row(head.of_qkv(qkv, head.position, 1), head.size, key);
  copy_row(head.of_qkv(qkv, head.position, 2), head.size, value);
  __syncwarp();
  for (int query = lane(); query < head.length; query += kWarpSize) {
    const int64_t statistic = head.statistic(op.heads, query);
    const PairGradient gradient(head, query, head.position,
                                dot(key, head.of_qkv(qkv, query, 0), head.size),
                                op.log_sum_exp.as<float>()[statistic],
                                dot(value, head.of_context(d_context, query), head.size));
    d_score[query] = gradient.d_score(head, deltas[statistic]);
    p[query] = gradient.probability * gradient.factor;
  }
  __syncwarp();
  T* d_key = const_cast<T*>(head.of_qkv(op.d_qkv.as<const T>(), head.position, 1));
  T* d_value = const_cast<T*>(head.of_qkv(op.d_qkv.as<const T>(), head.position, 2));
  for (int d = lane(); d < head.size; d += kWarpSize) {
    float of_key = 0.0f, of_value = 0.0f;
    for (int query = 0; query < head.length; ++query) {
      of_key += d_score[query] * static_cast<float>(head.of_qkv(qkv, query, 0)[d]);
      of_value += p[query] * static_cast<float>(head.of_context(d_context, query)[d]);
    }
    d_key[d] = T(of_key);
    d_value[d] = T(of_value);
  }
}

void check_sizes(const Sequences& sequences, int64_t head_size) {
  require(sequences.max_length <= kLongest,
          "the cuda backend supports sequences of up to 512 tokens");
  require(head_size <= kLargest, "the cuda backend supports attention heads of up to 128 units");
}

}  // namespace

template <typename T>
void plain_attention_forward(const Context& context, const AttentionForward& op) {
  check_sizes(op.sequences, op.context.cols / op.heads);
  const int64_t pairs = op.context.rows * op.heads;
  launch(context.stream, ceil_div(pairs, kWarps), kThreads, forward_kernel<T>, op, pairs);
}

template <typename T>
void plain_attention_backward(const Context& context, const AttentionBackward& op, RowMean mean) {
  check_sizes(op.sequences, op.context.cols / op.heads);
  const int64_t pairs = op.context.rows * op.heads, blocks = ceil_div(pairs, kWarps);
  float* deltas = context.scratch[0].get<float>(pairs);
  launch(context.stream, blocks, kThreads, query_gradient_kernel<T>, op, pairs, mean, deltas);
  launch(context.stream, blocks, kThreads, key_value_gradient_kernel<T>, op, pairs, deltas);
}

template void plain_attention_forward<float>(const Context&, const AttentionForward&);
template void plain_attention_forward<BFloat16>(const Context&, const AttentionForward&);
template void plain_attention_backward<float>(const Context&, const AttentionBackward&, RowMean);
template void plain_attention_backward<BFloat16>(const Context&, const AttentionBackward&, RowMean);
template void plain_attention_forward<Float16>(const Context&, const AttentionForward&);
template void plain_attention_backward<Float16>(const Context&, const AttentionBackward&, RowMean);

}  // namespace strata::device::cuda
