// Self-attention within the sequences of a packed batch (Vaswani et al. 2017, section 3.2.1), one
// query at a time. Backward recomputes the probabilities from log_sum_exp.
#include <algorithm>
#include <cmath>

#include "device/plain/heads.h"
#include "device/plain/softmax.h"
#include "device/sample/sample_backend.h"

namespace strata::device::sample {

using plain::add_scaled;
using plain::dot;
using plain::Head;

void SampleBackend::attention_forward(Stream stream, const AttentionForward& op) {
  const float* qkv = op.qkv.as<float>();
  float* scores = scratch(stream, op.sequences.max_length);
  plain::for_each_head(op, [&](const Head& head) {
    const auto scale = static_cast<float>(head.scale());
    for (int64_t q = 0; q < head.length; ++q) {
      for (int64_t k = 0; k < head.length; ++k) {
        scores[k] = scale * dot(qkv + head.in_qkv(q, 0), qkv + head.in_qkv(k, 1), head.units);
      }
      const auto log_sum_exp = static_cast<float>(plain::log_sum_exp(scores, head.length));
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
  plain::for_each_head(op, [&](const Head& head) {
    const auto scale = static_cast<float>(head.scale());
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
        const float probability = std::exp(scale * dot(query, key, head.units) - log_sum_exp);
        const float dropout = head.dropout_at(q, k);
        const float d_probability = dropout * dot(d_context, value, head.units);
        const float d_score = probability * (d_probability - mean) * scale;
        add_scaled(d_qkv + head.in_qkv(k, 2), probability * dropout, d_context, head.units);
        add_scaled(d_qkv + head.in_qkv(q, 0), d_score, key, head.units);
        add_scaled(d_qkv + head.in_qkv(k, 1), d_score, query, head.units);
      }
    }
  });
}

}  // namespace strata::device::sample
