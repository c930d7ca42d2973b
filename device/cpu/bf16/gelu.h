// GELU and its derivative on bf16 matrices, by piecewise polynomials. They need a few instructions
// per element; the exponential of the normal distribution needs many. Denormals count as 0, and
// infinity gives NaN.
#pragma once

#include <cstdint>

#include "device/backend.h"

namespace strata::device::cpu {

// True if `activation` is a GELU and the processor supports the kernels of device/cpu/bf16/.
bool bf16_gelu_takes(Activation activation);

// A part of matrices with the same layout: rows `stride` elements apart.
struct MatrixPart {
  int64_t rows = 0, columns = 0, stride = 0;
};

// y = gelu(pre_activation); both may be the same memory. The error before rounding to bf16 is at
// most 3e-6 |pre_activation|.
void bf16_gelu_forward(Activation activation, const MatrixPart& part,
                       const uint16_t* pre_activation, uint16_t* y);

// dx = dy gelu'(pre_activation); dx may be dy. The derivative's error is at most 2e-5.
void bf16_gelu_backward(Activation activation, const MatrixPart& part, const uint16_t* dy,
                        const uint16_t* pre_activation, uint16_t* dx);

}  // namespace strata::device::cpu
