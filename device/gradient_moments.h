// How Adam and LAMB take a gradient into the moments: the same for every device.
#pragma once

#include <cmath>

#include "device/host_device.h"

namespace strata::device {

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

}  // namespace strata::device
