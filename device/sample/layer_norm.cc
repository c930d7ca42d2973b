// y = LayerNorm(residual + dropout(x)).

#include "device/plain/layer_norm.h"

#include <algorithm>

#include "device/plain/token_dropout.h"
#include "device/sample/sample_backend.h"

namespace strata::device::sample {

using plain::add_standardization_gradient;
using plain::normalize;
using plain::normalize_backward;
using plain::TokenDropout;

void SampleBackend::residual_layernorm_forward(Stream stream, const ResidualLayerNormForward& op) {
  const int64_t tokens = op.x.rows, hidden = op.x.cols;
  float* row = scratch(stream, hidden);
  TokenDropout dropout(op.dropout, op.sequences);
  for (int64_t t = 0; t < tokens; ++t) {
    const int64_t first = t * hidden;
    dropout.next(t);
    for (int64_t h = 0; h < hidden; ++h) {
      row[h] = dropout.factor(h) * op.x.as<float>()[first + h];
      if (op.residual) row[h] += op.residual.as<float>()[first + h];
    }
    const float inverse_stddev = op.normalize ? normalize(row, hidden, op.epsilon) : 1;
    if (op.inverse_stddev) op.inverse_stddev.as<float>()[t] = inverse_stddev;
    if (op.normalized) std::copy_n(row, hidden, op.normalized.as<float>() + first);
    for (int64_t h = 0; h < hidden; ++h) {
      op.y.as<float>()[first + h] = op.gamma.as<float>()[h] * row[h] + op.beta.as<float>()[h];
    }
  }
}

void SampleBackend::residual_layernorm_backward(Stream stream,
                                                const ResidualLayerNormBackward& op) {
  const int64_t tokens = op.dy.rows, hidden = op.dy.cols;
  float *d_gamma = op.d_gamma.as<float>(), *d_beta = op.d_beta.as<float>();
  if (!op.accumulate) {
    std::fill_n(d_gamma, hidden, 0.0f);
    std::fill_n(d_beta, hidden, 0.0f);
  }
  float* row = scratch(stream, hidden);
  TokenDropout dropout(op.dropout, op.sequences);
  for (int64_t t = 0; t < tokens; ++t) {
    const int64_t first = t * hidden;
    const float* dy = op.dy.as<float>() + first;
    const float* normalized = op.normalized.as<float>() + first;
    dropout.next(t);
    for (int64_t h = 0; h < hidden; ++h) {
      row[h] = op.gamma.as<float>()[h] * dy[h];
      d_gamma[h] += normalized[h] * dy[h];
      d_beta[h] += dy[h];
    }
    if (op.normalize) {
      normalize_backward(row, normalized, op.inverse_stddev.as<float>()[t], hidden);
    } else {
      add_standardization_gradient(op.standardization, t, normalized, row, hidden);
    }
    for (int64_t h = 0; h < hidden; ++h) {
      op.d_x.as<float>()[first + h] = dropout.factor(h) * row[h];
    }
    if (op.d_residual) std::copy_n(row, hidden, op.d_residual.as<float>() + first);
  }
}

}  // namespace strata::device::sample
