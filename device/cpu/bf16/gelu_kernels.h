// The loops of device/cpu/bf16/gelu.h, compiled for AVX-512 BF16. The process crashes if the
// processor lacks it.
#pragma once

#include <cstdint>

#include "device/cpu/bf16/gelu.h"

namespace strata::device::cpu {

// A function of |x|: 15 segments of equal width from 0, each with a cubic in the distance from the
// segment's beginning, then a constant.
struct SegmentedCubic {
  static constexpr int kSegments = 16;  // the words of a register
  static constexpr float kWidth = 0.34375f;
  alignas(64) float coefficients[4][kSegments];  // one row per power 0 to 3
};

// half_gate(|x|) = gelu(|x|) / |x| - 1/2, so that gelu(x) = x / 2 + |x| half_gate.
void gelu_forward(const SegmentedCubic& half_gate, const MatrixPart& part,
                  const uint16_t* pre_activation, uint16_t* y);
// slope(|x|) = gelu'(|x|) - 1/2; slope(-|x|) has the opposite sign.
void gelu_backward(const SegmentedCubic& slope, const MatrixPart& part, const uint16_t* dy,
                   const uint16_t* pre_activation, uint16_t* dx);

}  // namespace strata::device::cpu
