// y = dropout(LayerNorm(word + position + segment)) for every token.
#include <algorithm>

#include "device/plain/layer_norm.h"
#include "device/plain/token_dropout.h"
#include "device/sample/sample_backend.h"

namespace strata::device::sample {

using plain::add_standardization_gradient;
using plain::normalize;
using plain::normalize_backward;
using plain::TokenDropout;

void SampleBackend::embeddings_forward(Stream stream, const EmbeddingsForward& op) {
  const int64_t tokens = op.y.rows, hidden = op.y.cols;
  float* row = scratch(stream, hidden);
  TokenDropout dropout(op.dropout, op.sequences);
  for (int64_t t = 0; t < tokens; ++t) {
    const int64_t first = t * hidden;
    const float* word = op.word.as<float>() + op.token_ids[t] * hidden;
    const float* position = op.position.as<float>() + op.positions[t] * hidden;
    const float* segment = op.segment.as<float>() + op.segment_ids[t] * hidden;
    for (int64_t h = 0; h < hidden; ++h) row[h] = word[h] + position[h] + segment[h];
    const float inverse_stddev = op.normalize ? normalize(row, hidden, op.epsilon) : 1;
    if (op.inverse_stddev) op.inverse_stddev.as<float>()[t] = inverse_stddev;
    if (op.normalized) std::copy_n(row, hidden, op.normalized.as<float>() + first);
    dropout.next(t);
    for (int64_t h = 0; h < hidden; ++h) {
      op.y.as<float>()[first + h] =
          dropout.factor(h) * (op.gamma.as<float>()[h] * row[h] + op.beta.as<float>()[h]);
    }
  }
}

// A word may occur at several tokens. A device with many threads must order these sums, because two
// runs must give the same bits.
void SampleBackend::embeddings_backward(Stream stream, const EmbeddingsBackward& op) {
  const int64_t tokens = op.dy.rows, hidden = op.dy.cols;
  float *d_gamma = op.d_gamma.as<float>(), *d_beta = op.d_beta.as<float>();
  if (!op.accumulate) {
    std::fill_n(d_gamma, hidden, 0.0f);
    std::fill_n(d_beta, hidden, 0.0f);
  }
  float* row = scratch(stream, hidden);
  TokenDropout dropout(op.dropout, op.sequences);
  for (int64_t t = 0; t < tokens; ++t) {
    const float* dy = op.dy.as<float>() + t * hidden;
    const float* normalized = op.normalized.as<float>() + t * hidden;
    dropout.next(t);
    for (int64_t h = 0; h < hidden; ++h) {
      const float d_kept = dropout.factor(h) * dy[h];
      row[h] = op.gamma.as<float>()[h] * d_kept;
      d_gamma[h] += normalized[h] * d_kept;
      d_beta[h] += d_kept;
    }
    if (op.normalize) {
      normalize_backward(row, normalized, op.inverse_stddev.as<float>()[t], hidden);
    } else {
      add_standardization_gradient(op.standardization, t, normalized, row, hidden);
    }
    float* d_word = op.d_word.as<float>() + op.token_ids[t] * hidden;
    float* d_position = op.d_position.as<float>() + op.positions[t] * hidden;
    float* d_segment = op.d_segment.as<float>() + op.segment_ids[t] * hidden;
    for (int64_t h = 0; h < hidden; ++h) {
      d_word[h] += row[h];
      d_position[h] += row[h];
      d_segment[h] += row[h];
    }
  }
}

}  // namespace strata::device::sample
