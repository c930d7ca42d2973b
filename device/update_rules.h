// What the optimizers make of one element: the same for every device.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "device/host_device.h"
#include "device/operations.h"

namespace strata::device {

// The arrays of an update that needs no sums over tensors, each [n] f32.
struct UpdateArrays {
  float* weights;
  const float* gradients;
  float *first, *second;         // the state that a step changes
  const float* initial_weights;  // null where the rule does not read them
};
STRATA_ALWAYS_INLINE UpdateArrays arrays_of(const AdamUpdate& op) {
  return {op.weights.as<float>(), op.gradients.as<float>(), op.first_moment.as<float>(),
          op.second_moment.as<float>(), nullptr};
}
STRATA_ALWAYS_INLINE UpdateArrays arrays_of(const MadgradUpdate& op) {
  return {op.weights.as<float>(), op.gradients.as<float>(), op.gradient_sum.as<float>(),
          op.square_sum.as<float>(), op.initial_weights.as<float>()};
}
STRATA_ALWAYS_INLINE UpdateArrays arrays_of(const AcClipUpdate& op) {
  return {op.weights.as<float>(), op.gradients.as<float>(), op.first_moment.as<float>(),
          op.threshold_power.as<float>(), nullptr};
}

// How Adam and LAMB take a gradient into the moments.
struct GradientMoments {
  float factor, beta1, beta2, correction1, correction2, epsilon, weight_decay;

  // Of an AdamUpdate or a LambDirection, on the device. `gradient_factor` multiplies every
  // gradient.
  template <typename Op>
  STRATA_HOST_DEVICE STRATA_ALWAYS_INLINE GradientMoments(const Op& op, float gradient_factor)
      : factor(gradient_factor),
        beta1(op.beta1),
        beta2(op.beta2),
        correction1(static_cast<float>(op.corrections.now().first)),
        correction2(static_cast<float>(op.corrections.now().second)),
        epsilon(op.epsilon),
        weight_decay(op.weight_decay) {}

  // The direction in which weight `w` goes down.
  STRATA_HOST_DEVICE STRATA_ALWAYS_INLINE float update(float w, float g, float& m, float& v) const {
    const float gradient = g * factor;
    m = beta1 * m + (1.0f - beta1) * gradient;
    v = beta2 * v + (1.0f - beta2) * gradient * gradient;
    return m * correction1 / (sqrtf(v * correction2) + epsilon) + weight_decay * w;
  }
};

// Rules are made on the device, of an operation and what multiplies every gradient. new_weight
// takes gradient `g` into the element's state and returns what becomes of its weight `w`.
struct AdamRule {
  GradientMoments moments;
  float rate;

  STRATA_HOST_DEVICE STRATA_ALWAYS_INLINE AdamRule(const AdamUpdate& op, float gradient_factor)
      : moments(op, gradient_factor), rate(op.learning_rate.now()) {}

  static constexpr bool kReadsInitialWeights = false;
  STRATA_HOST_DEVICE STRATA_ALWAYS_INLINE float new_weight(float w, float g, float& m, float& v,
                                                           float) const {
    return w - rate * moments.update(w, g, m, v);
  }
};

// Of v >= 0, to about three units in the last place: a third of the exponent, then Halley's method
// twice, which three correct digits need to become all. Branch-free, so that compilers vectorise
// it.
STRATA_HOST_DEVICE STRATA_ALWAYS_INLINE float cube_root(float v) {
  constexpr uint32_t kTwoThirdsOfBias = 709958130;  // less what makes the largest error smallest
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

  static constexpr bool kReadsInitialWeights = true;
  STRATA_HOST_DEVICE STRATA_ALWAYS_INLINE float new_weight(float w, float g, float& s, float& v,
                                                           float initial) const {
    const float gradient = g * factor, weighted = gradient_weight * gradient;
    s += weighted;
    v += weighted * gradient;
    const float average = initial - s / (cube_root(v) + epsilon);
    return w + averaging * (average - w) - decay * w;
  }
};

// kAlpha: 1 and 2 need no powers; 0: op.alpha, whatever it is.
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

  static constexpr bool kReadsInitialWeights = false;
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

// Calls use(std::type_identity<AcClipRule<...>>()) with the fastest rule of the operation.
template <typename Use>
STRATA_ALWAYS_INLINE void with_rule_of(const AcClipUpdate& op, const Use& use) {
  if (op.alpha == 1.0f) return use(std::type_identity<AcClipRule<1>>());
  if (op.alpha == 2.0f) return use(std::type_identity<AcClipRule<2>>());
  use(std::type_identity<AcClipRule<0>>());
}

}  // namespace strata::device
