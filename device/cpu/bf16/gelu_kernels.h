// The loops of device/cpu/bf16/gelu.h, which are compiled for AVX-512 BF16. Calling them where the
// processor lacks it is fatal.
#pragma once

#include <cstdint>

#include "device/cpu/bf16/gelu.h"

namespace strata::device::cpu {

// A function of |x|: from 0 on 15 segments of one width with a cubic each, in the distance from the
// segment's beginning; then a constant.
struct SegmentedCubic {
  static constexpr int kSegments = 16;  // the words of a register
  static constexpr float kWidth = 0.34375f;
  alignas(64) float coefficients[4][kSegments];  // of powers 0 to 3
};

// half_gate(|x|) = gelu(|x|) / |x| - 1/2, so that gelu(x) = x / 2 + |x| half_gate.
void gelu_forward(const SegmentedCubic& half_gate, const MatrixPart& part,
                  const uint16_t* pre_activation, uint16_t* y);
// slope(|x|) = gelu'(|x|) - 1/2, of which that of -|x| has the other sign.
void gelu_backward(const SegmentedCubic& slope, const MatrixPart& part, const uint16_t* dy,
                   const uint16_t* pre_activation, uint16_t* dx);

}  // namespace strata::device::cpu
