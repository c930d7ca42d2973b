// The softmax inside attention, with dropout, forward and backward.
#pragma once

#include "device/cpu/kernels/attention/attention_head.h"
#include "device/cpu/kernels/rows/dropout_row.h"

namespace strata::device::cpu {
namespace {

inline float score_factor(const HeadSoftmax& head) {
  return 1.0f / __builtin_sqrtf(static_cast<float>(head.d));
}

// Returns the factors of a query's probabilities, or null without dropout.
inline const float* dropout_factors(const HeadSoftmax& head, int64_t query, float* factors) {
  if (head.dropout.probability <= 0.0f) return nullptr;
  dropout_row(head.dropout, head.sample_id, dropout_row_of(head, query), head.length, factors);
  return factors;
}

// Replaces a query's raw scores with unnormalized probabilities after dropout, keeps log_sum_exp
// and returns the factor that normalizes.
inline float softmax_forward(const HeadSoftmax& head, int64_t query, float* scores,
                             float* scratch) {
  const int64_t n = head.length;
  const float scale = score_factor(head);
  const float highest = highest_of(scores, n);
  float sum = 0.0f;
  for (int64_t i = 0; i < n; ++i) {
    scores[i] = exp_of_negative((scores[i] - highest) * scale);
    sum += scores[i];
  }
  head.log_sum_exp[query * head.log_sum_exp_stride] = highest * scale + __builtin_logf(sum);
  if (const float* factors = dropout_factors(head, query, scratch)) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) scores[i] *= factors[i];
  }
  return 1.0f / sum;
}

// Replaces a query's raw scores with its probabilities after dropout, and `d`, the gradients of
// these, with the gradients of the raw scores.
inline void softmax_backward(const HeadSoftmax& head, int64_t query, float* scores, float* d,
                             float* scratch) {
  const int64_t n = head.length;
  const float scale = score_factor(head);
  const float log_sum_exp = head.log_sum_exp[query * head.log_sum_exp_stride];
  const float* factors = dropout_factors(head, query, scratch);
  if (factors != nullptr) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) d[i] *= factors[i];
  }
  // The mean is not computed from the rounded context: gradients may be nearly equal, and their
  // differences would be lost.
  float sum = 0.0f, dot = 0.0f;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    scores[i] = fast_exp(scores[i] * scale - log_sum_exp);
    sum += scores[i];
    dot += scores[i] * d[i];
  }
  const float mean = dot / sum;
  if (factors == nullptr) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) d[i] = scores[i] * (d[i] - mean) * scale;
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      d[i] = scores[i] * (d[i] - mean) * scale;
      scores[i] *= factors[i];
    }
  }
}

}  // namespace
}  // namespace strata::device::cpu
