// The softmax inside attention, with dropout, forward and backward, for one head of one sequence.
#pragma once

#include "device/cpu/kernels/rows/dropout_row.h"

namespace strata::device::cpu {
namespace {

inline uint32_t attention_row(const SoftmaxRows& rows, int64_t query) {
  return rows.head * 65536u + static_cast<uint32_t>(query);
}

template <typename T>
void zero_tail(const SoftmaxRows& rows, T* row) {
  for (int64_t i = rows.length; i < rows.padded; ++i) row[i] = T{};
}

template <typename T>
void softmax_forward(const SoftmaxRows& rows, T* probabilities, float* factors) {
  const int64_t n = rows.length;
  const bool drop = rows.dropout.probability > 0.0f;
  for (int64_t query = 0; query < n; ++query) {
    float* scores = rows.scores + query * rows.padded;
    const float highest = highest_of(scores, n);
    float sum = 0.0f;
    for (int64_t i = 0; i < n; ++i) {
      scores[i] = fast_exp((scores[i] - highest) * rows.scale);
      sum += scores[i];
    }
    rows.log_sum_exp[query * rows.log_sum_exp_stride] = highest * rows.scale + __builtin_logf(sum);
    const float inverse = 1.0f / sum;
    T* out = probabilities + query * rows.padded;
    if (drop) {
      dropout_row(rows.dropout, rows.sample_id, attention_row(rows, query), n, factors);
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) store(out[i], scores[i] * inverse * factors[i]);
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) store(out[i], scores[i] * inverse);
    }
    zero_tail(rows, out);
  }
}

template <typename T>
void softmax_backward(const SoftmaxRows& rows, const float* d_probabilities, T* probabilities,
                      T* d_scores, float* factors) {
  const int64_t n = rows.length;
  const bool drop = rows.dropout.probability > 0.0f;
  if (!drop) {
    for (int64_t i = 0; i < n; ++i) factors[i] = 1.0f;
  }
  for (int64_t query = 0; query < n; ++query) {
    float* scores = rows.scores + query * rows.padded;
    const float* d_out = d_probabilities + query * rows.padded;
    const float log_sum_exp = rows.log_sum_exp[query * rows.log_sum_exp_stride];
    T* out = probabilities + query * rows.padded;
    T* d_in = d_scores + query * rows.padded;
    if (drop) dropout_row(rows.dropout, rows.sample_id, attention_row(rows, query), n, factors);
    // Computes the mean here instead of from the rounded context, because gradients may differ
    // little.
    float sum = 0.0f, dot = 0.0f;
    for (int64_t i = 0; i < n; ++i) {
      scores[i] = fast_exp(scores[i] * rows.scale - log_sum_exp);
      sum += scores[i];
      dot += scores[i] * (d_out[i] * factors[i]);
    }
    const float mean = dot / sum;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      const float p = scores[i];
      const float d = p * (d_out[i] * factors[i] - mean) * rows.scale;
      store(out[i], p * factors[i]);
      store(d_in[i], d);
    }
    zero_tail(rows, out);
    zero_tail(rows, d_in);
  }
}

}  // namespace
}  // namespace strata::device::cpu
