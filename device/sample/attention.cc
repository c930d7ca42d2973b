// Self-attention inside the sequences of a packed batch (Vaswani et al. 2017, section 3.2.1), one
// query after another. Backward computes the probabilities again from log_sum_exp.
#include <algorithm>
#include <cmath>

#include "device/sample/sample_backend.h"

namespace strata::device::sample {
namespace {

// One head of one sequence. Rows are counted from the sequence's first token.
struct Head {
  int64_t first_token, length, index;
  int64_t hidden;  // H
  int64_t units;   // H / heads
  uint64_t sample_id;
  const Dropout& dropout;

  // Element 0 of this head's part of a row of qkv [T, 3H]; part 0: query, 1: key, 2: value.
  int64_t in_qkv(int64_t row, int64_t part) const {
    return (first_token + row) * 3 * hidden + part * hidden + index * units;
  }
  // The same of a row of context [T, H].
  int64_t in_context(int64_t row) const { return (first_token + row) * hidden + index * units; }
  float scale() const { return 1 / std::sqrt(static_cast<float>(units)); }
  float dropout_at(int64_t query, int64_t key) const {
    return dropout_factor(dropout, sample_id, static_cast<uint32_t>(index * 65536 + query),
                          static_cast<uint32_t>(key));
  }
};

// `Op`: AttentionForward or AttentionBackward.
template <typename Op, typename Function>
void for_each_head(const Op& op, const Function& function) {
  const Sequences& s = op.sequences;
  const int64_t hidden = op.qkv.cols / 3;
  for (int32_t b = 0; b < s.count; ++b) {
    for (int32_t h = 0; h < op.heads; ++h) {
      function(Head{s.cu_seqlens[b], s.cu_seqlens[b + 1] - s.cu_seqlens[b], h, hidden,
                    hidden / op.heads, s.sample_ids[b], op.dropout});
    }
  }
}

float dot(const float* a, const float* b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += double{a[i]} * b[i];
  return static_cast<float>(sum);
}

void add_scaled(float* to, float factor, const float* from, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] += factor * from[i];
}

}  // namespace

void SampleBackend::attention_forward(Stream stream, const AttentionForward& op) {
  const float* qkv = op.qkv.as<float>();
  float* scores = scratch(stream, op.sequences.max_length);
  for_each_head(op, [&](const Head& head) {
    for (int64_t q = 0; q < head.length; ++q) {
      float highest = -INFINITY;
      for (int64_t k = 0; k < head.length; ++k) {
        scores[k] =
            dot(qkv + head.in_qkv(q, 0), qkv + head.in_qkv(k, 1), head.units) * head.scale();
        highest = std::max(highest, scores[k]);
      }
      double sum = 0;
      for (int64_t k = 0; k < head.length; ++k) sum += std::exp(scores[k] - highest);
      const float log_sum_exp = highest + static_cast<float>(std::log(sum));
      op.log_sum_exp.as<float>()[(head.first_token + q) * op.heads + head.index] = log_sum_exp;

      float* context = op.context.as<float>() + head.in_context(q);
      std::fill_n(context, head.units, 0.0f);
      for (int64_t k = 0; k < head.length; ++k) {
        const float probability = std::exp(scores[k] - log_sum_exp);
        add_scaled(context, probability * head.dropout_at(q, k), qkv + head.in_qkv(k, 2),
                   head.units);
      }
    }
  });
}

void SampleBackend::attention_backward(Stream, const AttentionBackward& op) {
  const float* qkv = op.qkv.as<float>();
  float* d_qkv = op.d_qkv.as<float>();
  std::fill_n(d_qkv, op.d_qkv.size(), 0.0f);
  for_each_head(op, [&](const Head& head) {
    for (int64_t q = 0; q < head.length; ++q) {
      const float* query = qkv + head.in_qkv(q, 0);
      const float* d_context = op.d_context.as<float>() + head.in_context(q);
      const float log_sum_exp =
          op.log_sum_exp.as<float>()[(head.first_token + q) * op.heads + head.index];
      // Sum over keys of probability times its gradient (Dao et al. 2022, section 3.1).
      const float mean = dot(d_context, op.context.as<float>() + head.in_context(q), head.units);
      for (int64_t k = 0; k < head.length; ++k) {
        const float* key = qkv + head.in_qkv(k, 1);
        const float* value = qkv + head.in_qkv(k, 2);
        const float probability =
            std::exp(dot(query, key, head.units) * head.scale() - log_sum_exp);
        const float dropout = head.dropout_at(q, k);
        const float d_probability = dropout * dot(d_context, value, head.units);
        const float d_score = probability * (d_probability - mean) * head.scale();
        add_scaled(d_qkv + head.in_qkv(k, 2), probability * dropout, d_context, head.units);
        add_scaled(d_qkv + head.in_qkv(q, 0), d_score, key, head.units);
        add_scaled(d_qkv + head.in_qkv(k, 1), d_score, query, head.units);
      }
    }
  });
}

}  // namespace strata::device::sample
