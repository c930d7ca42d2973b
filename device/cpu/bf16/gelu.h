// GELU and its derivative of bf16 matrices, by piecewise polynomials: a few instructions an
// element, where the exponential of the normal distribution takes many. Denormals count as 0, and
// an infinity gives a NaN.
#pragma once

#include <cstdint>

#include "device/backend.h"

namespace strata::device::cpu {

// Whether `activation` is a GELU and this processor is one for device/cpu/bf16/.
bool bf16_gelu_takes(Activation activation);

// Part of matrices that lie alike: rows `stride` elements apart.
struct MatrixPart {
  int64_t rows = 0, columns = 0, stride = 0;
};

// y = gelu(pre_activation), which may be the same memory. Off by 3e-6 |pre_activation| at most,
// before it is rounded to bf16.
void bf16_gelu_forward(Activation activation, const MatrixPart& part,
                       const uint16_t* pre_activation, uint16_t* y);

// dx = dy gelu'(pre_activation); dx may be dy. The derivative is off by 2e-5 at most.
void bf16_gelu_backward(Activation activation, const MatrixPart& part, const uint16_t* dy,
                        const uint16_t* pre_activation, uint16_t* dx);

}  // namespace strata::device::cpu
