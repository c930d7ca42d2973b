// Adam and LAMB over flat ranges. device/gradient_moments.h has the arithmetic that both share.
#include <algorithm>
#include <cmath>

#include "device/gradient_moments.h"
#include "device/sample/sample_backend.h"

namespace strata::device::sample {
namespace {

// What every gradient is multiplied by.
float factor_of(const GradientClip& clip) {
  if (!clip.norm_squared) return clip.scale;
  const double factor = std::min(1.0, clip.max_norm / std::sqrt(*clip.norm_squared));
  return clip.scale * static_cast<float>(factor);
}

}  // namespace

// Computes in the master weights' dtype: compute_weights is absent.
void SampleBackend::adam_update(Stream, const AdamUpdate& op) {
  const GradientMoments moments(op, factor_of(op.clip));
  const float learning_rate = op.learning_rate.now();
  float *m = op.first_moment.as<float>(), *v = op.second_moment.as<float>();
  float* w = op.weights.as<float>();
  for (int64_t i = 0; i < op.weights.size(); ++i) {
    w[i] -= learning_rate * moments.update(w[i], op.gradients.as<float>()[i], m[i], v[i]);
  }
}

// Optional, as is lamb_apply.
void SampleBackend::lamb_direction(Stream, const LambDirection& op) {
  const GradientMoments moments(op, factor_of(op.clip));
  float *m = op.first_moment.as<float>(), *v = op.second_moment.as<float>();
  float* g = op.gradients.as<float>();
  LambNorms norms;
  for (int64_t i = 0; i < op.weights.size(); ++i) {
    const float w = op.weights.as<float>()[i];
    g[i] = moments.update(w, g[i], m[i], v[i]);
    norms.weights += double{w} * w;
    norms.direction += double{g[i]} * g[i];
  }
  *op.norms += norms;
}

void SampleBackend::lamb_apply(Stream, const LambApply& op) {
  const auto rate = static_cast<float>(op.learning_rate.now() * op.norms->trust_ratio());
  float* w = op.weights.as<float>();
  for (int64_t i = 0; i < op.weights.size(); ++i) w[i] -= rate * op.directions.as<float>()[i];
}

}  // namespace strata::device::sample
