// Optimizers over flat ranges. device/operations/update_rules.h has their arithmetic.
#include <algorithm>
#include <cmath>

#include "device/operations/update_rules.h"
#include "device/sample/sample_backend.h"

namespace strata::device::sample {
namespace {

// Returns the factor of every gradient.
float factor_of(const GradientClip& clip) {
  if (!clip.norm_squared) return clip.scale;
  const double factor = std::min(1.0, clip.max_norm / std::sqrt(*clip.norm_squared));
  return clip.scale * static_cast<float>(factor);
}

// Computes in the master weights' dtype, so compute_weights is absent.
template <typename Rule, typename Op>
void update(const Op& op) {
  const Rule rule(op, factor_of(op.clip));
  const UpdateArrays a = arrays_of(op);
  float no_second = 0;
  for (int64_t i = 0; i < op.weights.size(); ++i) {
    a.weights[i] = rule.new_weight(a.weights[i], a.gradients[i], a.first[i],
                                   a.second ? a.second[i] : no_second,
                                   a.initial_weights ? a.initial_weights[i] : 0.0f);
  }
}

}  // namespace

// adam_update and the other element-wise updates. All but adam_update are optional.
#define STRATA_UPDATE(function, Update, without)                                     \
  void SampleBackend::function(Stream, const Update& op) {                           \
    with_rule_of(op, [&](auto rule) { update<typename decltype(rule)::type>(op); }); \
  }
STRATA_ELEMENTWISE_UPDATES(STRATA_UPDATE)
#undef STRATA_UPDATE

// The operations below are optional.
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
