// Optimizers that update every element independently: the arguments of their operations, and the
// update of one element, the same on every device. A new one needs a struct of arguments, a rule, a
// line of the list below, and its formula in device/reference/optimizers.cc.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <type_traits>

#include "device/operations/host_device.h"
#include "device/operations/step_value.h"
#include "device/operations/tensor.h"

// X(function, arguments, without), as in device/operations/operation_list.h.
#define STRATA_ELEMENTWISE_UPDATES(X)                                  \
  X(adam_update, AdamUpdate, "")                                       \
  X(madgrad_update, MadgradUpdate, "MADGRAD; use optimizer.name adam") \
  X(acclip_update, AcClipUpdate, "ACClip; use optimizer.name adam")    \
  X(sgd_update, SgdUpdate, "SGD; use optimizer.name adam")

namespace strata::device {

// Corrections for moments that start at zero: 1 / (1 - beta^t) for both.
struct BiasCorrections {
  double first = 1;
  double second = 1;
};

// Returns the corrections after step t, counted from 1.
inline BiasCorrections bias_corrections(double beta1, double beta2, int64_t step) {
  const auto t = static_cast<double>(step);
  return {1 / (1 - std::pow(beta1, t)), 1 / (1 - std::pow(beta2, t))};
}

// Factor of a gradient before it is applied: scale * min(1, max_norm / sqrt(norm_squared)), or
// scale alone without a norm.
struct GradientClip {
  float scale = 1.0f;
  const double* norm_squared = nullptr;  // device memory; null: no clipping
  float max_norm = 1.0f;                 // in the units of norm_squared, before `scale`
};

// The arguments of an update have the fields of AdamUpdate below, except for its moments,
// corrections and betas, and two more members:
//   kState  one or two tensors that start at zero and change in every step
//   Rule    constructed on the device from the arguments and the factor of every gradient.
//           new_weight() updates the element's state with gradient `g` and returns the new weight.
// If the arguments have a field `initial_weights`, the rule also reads the weights before the first
// step.

struct AdamRule;
struct MadgradRule;
template <int kAlpha>
struct AcClipRule;
struct SgdRule;

// Adam with decoupled weight decay and bias correction (Loshchilov & Hutter 2019, algorithm 2) over
// a flat range. One pass also writes the weights that compute reads: g' = clip * g; m = b1 m +
// (1-b1) g'; v = b2 v + (1-b2) g'^2; w -= lr * (c1 m / (sqrt(c2 v) + epsilon) + weight_decay * w),
// where c1 and c2 are the corrections.
struct AdamUpdate {
  Tensor weights;          // [n] master dtype
  Tensor compute_weights;  // [n] compute dtype; absent if compute reads the master weights
  ConstTensor gradients;   // [n] master dtype
  Tensor first_moment;     // [n] master dtype
  Tensor second_moment;    // [n] master dtype
  StepValue<float> learning_rate;
  StepValue<BiasCorrections> corrections;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float epsilon = 1e-8f;
  float weight_decay = 0;
  GradientClip clip;

  static constexpr Tensor AdamUpdate::*kState[] = {&AdamUpdate::first_moment,
                                                   &AdamUpdate::second_moment};
  using Rule = AdamRule;
};

// The moment updates that Adam and LAMB share.
struct GradientMoments {
  float factor, beta1, beta2, correction1, correction2, epsilon, weight_decay;

  // Constructed on the device from an AdamUpdate or a LambDirection. `gradient_factor` multiplies
  // every gradient.
  template <typename Op>
  STRATA_HOST_DEVICE STRATA_ALWAYS_INLINE GradientMoments(const Op& op, float gradient_factor)
      : factor(gradient_factor),
        beta1(op.beta1),
        beta2(op.beta2),
        correction1(static_cast<float>(op.corrections.now().first)),
        correction2(static_cast<float>(op.corrections.now().second)),
        epsilon(op.epsilon),
        weight_decay(op.weight_decay) {}

  // Returns the descent direction of weight `w`.
  STRATA_HOST_DEVICE STRATA_ALWAYS_INLINE float update(float w, float g, float& m, float& v) const {
    const float gradient = g * factor;
    m = beta1 * m + (1.0f - beta1) * gradient;
    v = beta2 * v + (1.0f - beta2) * gradient * gradient;
    return m * correction1 / (sqrtf(v * correction2) + epsilon) + weight_decay * w;
  }
};

struct AdamRule {
  GradientMoments moments;
  float rate;

  STRATA_HOST_DEVICE STRATA_ALWAYS_INLINE AdamRule(const AdamUpdate& op, float gradient_factor)
      : moments(op, gradient_factor), rate(op.learning_rate.now()) {}

  STRATA_HOST_DEVICE STRATA_ALWAYS_INLINE float new_weight(float w, float g, float& m, float& v,
                                                           float) const {
    return w - rate * moments.update(w, g, m, v);
  }
};

// MADGRAD (Defazio & Jelassi 2021, arXiv 2101.11075, algorithm 1) over a flat range. One pass also
// writes the weights that compute reads. g' is Adam's; in step t, from 1, with lambda = lr sqrt(t):
// s += lambda g'; v += lambda g'^2; z = w0 - s / (cbrt(v) + epsilon); w += c (z - w) - lr *
// weight_decay * w. w0 is the weights before the first step; s and v start at zero.
struct MadgradUpdate {
  Tensor weights;               // [n] master dtype
  Tensor compute_weights;       // [n] compute dtype; absent if compute reads the master weights
  ConstTensor gradients;        // [n] master dtype
  Tensor gradient_sum;          // [n] master dtype: s
  Tensor square_sum;            // [n] master dtype: v
  ConstTensor initial_weights;  // [n] master dtype: w0
  StepValue<float> learning_rate;
  StepValue<float> gradient_weight;  // lambda
  float averaging = 0.1f;            // c = 1 - momentum
  float epsilon = 1e-6f;
  float weight_decay = 0;
  GradientClip clip;

  static constexpr Tensor MadgradUpdate::*kState[] = {&MadgradUpdate::gradient_sum,
                                                      &MadgradUpdate::square_sum};
  using Rule = MadgradRule;
};

// Cube root of v >= 0, accurate to about 3 ulp. Starts from a third of the exponent, correct to
// three digits, and applies Halley's method twice. Branch-free, so that compilers vectorise it.
STRATA_HOST_DEVICE STRATA_ALWAYS_INLINE float cube_root(float v) {
  constexpr uint32_t kTwoThirdsOfBias = 709958130;  // adjusted to minimise the largest error
  float y = std::bit_cast<float>(std::bit_cast<uint32_t>(v) / 3 + kTwoThirdsOfBias);
  for (int i = 0; i < 2; ++i) {
    const float r = v / (y * y);
    y *= (y + 2.0f * r) / (2.0f * y + r);
  }
  return v == 0.0f ? 0.0f : y;
}

struct MadgradRule {
  float factor, gradient_weight, averaging, epsilon, decay;

  STRATA_HOST_DEVICE STRATA_ALWAYS_INLINE MadgradRule(const MadgradUpdate& op,
                                                      float gradient_factor)
      : factor(gradient_factor),
        gradient_weight(op.gradient_weight.now()),
        averaging(op.averaging),
        epsilon(op.epsilon),
        decay(op.learning_rate.now() * op.weight_decay) {}

  STRATA_HOST_DEVICE STRATA_ALWAYS_INLINE float new_weight(float w, float g, float& s, float& v,
                                                           float initial) const {
    const float gradient = g * factor, weighted = gradient_weight * gradient;
    s += weighted;
    v += weighted * gradient;
    const float average = initial - s / (cube_root(v) + epsilon);
    return w + averaging * (average - w) - decay * w;
  }
};

// ACClip (Zhang et al. 2020, arXiv 1912.03194, algorithm 2) over a flat range. One pass also writes
// the weights that compute reads. Every element of the momentum is clipped by its own threshold. g'
// is Adam's; m = b1 m + (1-b1) g'; tau^alpha = b2 tau^alpha + (1-b2) |g'|^alpha; w -= lr * (min(1,
// tau / (|m| + epsilon)) m + weight_decay * w). m and tau start at zero.
struct AcClipUpdate {
  Tensor weights;          // [n] master dtype
  Tensor compute_weights;  // [n] compute dtype; absent if compute reads the master weights
  ConstTensor gradients;   // [n] master dtype
  Tensor first_moment;     // [n] master dtype: m
  Tensor threshold_power;  // [n] master dtype: tau^alpha
  StepValue<float> learning_rate;
  float alpha = 1.0f;  // in [1, 2]
  float beta1 = 0.9f;
  float beta2 = 0.99f;
  float epsilon = 1e-6f;
  float weight_decay = 0;
  GradientClip clip;

  static constexpr Tensor AcClipUpdate::*kState[] = {&AcClipUpdate::first_moment,
                                                     &AcClipUpdate::threshold_power};
  using Rule = AcClipRule<0>;
};

// kAlpha 1 and 2 need no powers; 0 takes any op.alpha.
template <int kAlpha>
struct AcClipRule {
  float factor, beta1, beta2, epsilon, weight_decay, rate, alpha;

  STRATA_HOST_DEVICE STRATA_ALWAYS_INLINE AcClipRule(const AcClipUpdate& op, float gradient_factor)
      : factor(gradient_factor),
        beta1(op.beta1),
        beta2(op.beta2),
        epsilon(op.epsilon),
        weight_decay(op.weight_decay),
        rate(op.learning_rate.now()),
        alpha(op.alpha) {}

  STRATA_HOST_DEVICE STRATA_ALWAYS_INLINE float power(float magnitude) const {
    if constexpr (kAlpha == 1) return magnitude;
    if constexpr (kAlpha == 2) return magnitude * magnitude;
    return powf(magnitude, alpha);
  }
  STRATA_HOST_DEVICE STRATA_ALWAYS_INLINE float root(float threshold_power) const {
    if constexpr (kAlpha == 1) return threshold_power;
    if constexpr (kAlpha == 2) return sqrtf(threshold_power);
    return powf(threshold_power, 1.0f / alpha);
  }

  STRATA_HOST_DEVICE STRATA_ALWAYS_INLINE float new_weight(float w, float g, float& m,
                                                           float& threshold_power, float) const {
    const float gradient = g * factor;
    m = beta1 * m + (1.0f - beta1) * gradient;
    threshold_power = beta2 * threshold_power + (1.0f - beta2) * power(fabsf(gradient));
    const float share = root(threshold_power) / (fabsf(m) + epsilon);
    const float clipped = share < 1.0f ? share * m : m;
    return w - rate * (clipped + weight_decay * w);
  }
};

// SGD with momentum (Polyak 1964) over a flat range, as in PyTorch: weight decay is added to the
// gradient. One pass also writes the weights that compute reads. g' is Adam's; v = momentum v + g'
// + weight_decay * w; w -= lr * v. v starts at zero.
struct SgdUpdate {
  Tensor weights;          // [n] master dtype
  Tensor compute_weights;  // [n] compute dtype; absent if compute reads the master weights
  ConstTensor gradients;   // [n] master dtype
  Tensor velocity;         // [n] master dtype: v
  StepValue<float> learning_rate;
  float momentum = 0.9f;
  float weight_decay = 0;
  GradientClip clip;

  static constexpr Tensor SgdUpdate::*kState[] = {&SgdUpdate::velocity};
  using Rule = SgdRule;
};

struct SgdRule {
  float factor, momentum, weight_decay, rate;

  STRATA_HOST_DEVICE STRATA_ALWAYS_INLINE SgdRule(const SgdUpdate& op, float gradient_factor)
      : factor(gradient_factor),
        momentum(op.momentum),
        weight_decay(op.weight_decay),
        rate(op.learning_rate.now()) {}

  STRATA_HOST_DEVICE STRATA_ALWAYS_INLINE float new_weight(float w, float g, float& v, float&,
                                                           float) const {
    v = momentum * v + (g * factor + weight_decay * w);
    return w - rate * v;
  }
};

// Calls use(std::type_identity<Rule>()) with the operation's fastest rule.
template <typename Op, typename Use>
STRATA_ALWAYS_INLINE void with_rule_of(const Op&, const Use& use) {
  use(std::type_identity<typename Op::Rule>());
}
template <typename Use>
STRATA_ALWAYS_INLINE void with_rule_of(const AcClipUpdate& op, const Use& use) {
  if (op.alpha == 1.0f) return use(std::type_identity<AcClipRule<1>>());
  if (op.alpha == 2.0f) return use(std::type_identity<AcClipRule<2>>());
  use(std::type_identity<AcClipRule<0>>());
}

template <typename Op>
inline constexpr bool kTwoStates = std::size(Op::kState) == 2;
template <typename Op>
inline constexpr bool kReadsInitialWeights = requires(Op op) {
  op.initial_weights;
};

// Arrays of an update, each [n] f32.
struct UpdateArrays {
  float* weights;
  const float* gradients;
  float *first, *second;         // null if the update has one state
  const float* initial_weights;  // null if the rule does not read them
};
template <typename Op>
STRATA_ALWAYS_INLINE UpdateArrays arrays_of(const Op& op) {
  UpdateArrays arrays{op.weights.template as<float>(), op.gradients.template as<float>(),
                      (op.*Op::kState[0]).template as<float>(), nullptr, nullptr};
  if constexpr (kTwoStates<Op>) arrays.second = (op.*Op::kState[1]).template as<float>();
  if constexpr (kReadsInitialWeights<Op>) {
    arrays.initial_weights = op.initial_weights.template as<float>();
  }
  return arrays;
}

}  // namespace strata::device
