// Attention of one head of one sequence in f32. Scores of few queries at a time stay in the
// second-level cache.
#pragma once

#include "device/cpu/kernels/attention/products.h"
#include "device/cpu/kernels/attention/softmax.h"
#include "device/cpu/kernels/rows/row_blocks.h"

namespace strata::device::cpu {
namespace {

constexpr int64_t kQueries = 48;  // processed together; whole tiles

// Distance of rows of scores in floats: an odd number of cache lines, so that rows spread over the
// sets of the cache.
constexpr int64_t score_row(int64_t length) {
  return (round_up(whole_panels(length), 16) / 16 | 1) * 16;
}

// to[rows, d] = from, whose rows may lie a multiple of 4 KiB apart, and so in one set of the cache.
inline void copy_rows(int64_t rows, int64_t d, const float* from, int64_t stride, float* to) {
  for (int64_t i = 0; i < rows; ++i) std::copy_n(from + i * stride, d, to + i * d);
}

struct ForwardMemory {
  float *keys, *values;  // packed: keys transposed, rows of values
  float* queries;        // [kQueries, d]
  float* scores;         // [kQueries, score_row(length)]
  float* factors;        // of a row's dropout
  int64_t bytes;

  ForwardMemory(int64_t length, int64_t d, void* memory) {
    Pieces pieces(memory);
    keys = pieces.take<float>(whole_panels(length) * d);
    values = pieces.take<float>(length * whole_panels(d));
    queries = pieces.take<float>(kQueries * d);
    scores = pieces.take<float>(kQueries * score_row(length));
    factors = pieces.take<float>(scratch_floats(length));
    bytes = pieces.used();
  }
};

struct BackwardMemory {
  float *keys, *values;        // packed, transposed
  float* key_rows;             // packed
  float *queries, *d_context;  // [kQueries, d]
  float *packed_queries, *packed_d_context;
  float *scores, *d_probabilities;  // [kQueries, score_row(length)]
  float* factors;                   // of a row's dropout
  int64_t bytes;

  BackwardMemory(int64_t length, int64_t d, void* memory) {
    Pieces pieces(memory);
    keys = pieces.take<float>(whole_panels(length) * d);
    values = pieces.take<float>(whole_panels(length) * d);
    key_rows = pieces.take<float>(length * whole_panels(d));
    queries = pieces.take<float>(kQueries * d);
    d_context = pieces.take<float>(kQueries * d);
    packed_queries = pieces.take<float>(kQueries * whole_panels(d));
    packed_d_context = pieces.take<float>(kQueries * whole_panels(d));
    scores = pieces.take<float>(kQueries * score_row(length));
    d_probabilities = pieces.take<float>(kQueries * score_row(length));
    factors = pieces.take<float>(scratch_floats(length));
    bytes = pieces.used();
  }
};

void attention_forward(const AttentionHead<float>& head, float* context, int64_t context_stride,
                       void* scratch) {
  const int64_t n = head.length, d = head.d, row = score_row(n);
  const ForwardMemory memory(n, d, scratch);
  pack_transposed(n, d, head.key, head.stride, memory.keys);
  pack_rows(n, d, head.value, head.stride, memory.values);
  for (int64_t first = 0; first < n; first += kQueries) {
    const int64_t queries = std::min(kQueries, n - first);
    copy_rows(queries, d, head.query + first * head.stride, head.stride, memory.queries);
    product(queries, whole_panels(n), d, {memory.queries, d, 1}, memory.keys, false, memory.scores,
            row);
    float factors[kQueries];
    for (int64_t i = 0; i < queries; ++i) {
      factors[i] = softmax_forward(head, first + i, memory.scores + i * row, memory.factors);
    }
    float* out = context + first * context_stride;
    product(queries, d, n, {memory.scores, row, 1}, memory.values, false, out, context_stride);
    for (int64_t i = 0; i < queries; ++i, out += context_stride) {
      for (int64_t c = 0; c < d; ++c) out[c] *= factors[i];
    }
  }
}

void attention_backward(const AttentionHead<float>& head,
                        const AttentionHeadGradients<float>& gradients, void* scratch) {
  const int64_t n = head.length, d = head.d, row = score_row(n);
  const BackwardMemory memory(n, d, scratch);
  pack_transposed(n, d, head.key, head.stride, memory.keys);
  pack_transposed(n, d, head.value, head.stride, memory.values);
  pack_rows(n, d, head.key, head.stride, memory.key_rows);
  for (int64_t first = 0; first < n; first += kQueries) {
    const int64_t queries = std::min(kQueries, n - first);
    const float* query = head.query + first * head.stride;
    const float* d_context = gradients.d_context + first * gradients.d_context_stride;
    copy_rows(queries, d, query, head.stride, memory.queries);
    copy_rows(queries, d, d_context, gradients.d_context_stride, memory.d_context);
    product(queries, whole_panels(n), d, {memory.queries, d, 1}, memory.keys, false, memory.scores,
            row);
    product(queries, whole_panels(n), d, {memory.d_context, d, 1}, memory.values, false,
            memory.d_probabilities, row);
    for (int64_t i = 0; i < queries; ++i) {
      softmax_backward(head, first + i, memory.scores + i * row, memory.d_probabilities + i * row,
                       memory.factors);
    }
    const float *probabilities = memory.scores, *d_scores = memory.d_probabilities;
    product(queries, d, n, {d_scores, row, 1}, memory.key_rows, false,
            gradients.d_query + first * gradients.d_stride, gradients.d_stride);
    // Sums over queries.
    pack_rows(queries, d, memory.queries, d, memory.packed_queries);
    pack_rows(queries, d, memory.d_context, d, memory.packed_d_context);
    product(n, d, queries, {d_scores, 1, row}, memory.packed_queries, first > 0, gradients.d_key,
            gradients.d_stride);
    product(n, d, queries, {probabilities, 1, row}, memory.packed_d_context, first > 0,
            gradients.d_value, gradients.d_stride);
  }
}

constexpr AttentionKernels<float> kAttention = {
    .forward_scratch = [](int64_t length,
                          int64_t d) { return ForwardMemory(length, d, nullptr).bytes; },
    .backward_scratch = [](int64_t length,
                           int64_t d) { return BackwardMemory(length, d, nullptr).bytes; },
    .forward = attention_forward,
    .backward = attention_backward};

}  // namespace
}  // namespace strata::device::cpu
