// Keeping the GPU busy.
#pragma once

#include <cuda_runtime.h>

namespace strata::device::cuda {

// Has the stream wait for about so many microseconds before it goes on, a little longer where the
// GPU's clock is below 2 GHz.
void delay(cudaStream_t stream, int microseconds);

}  // namespace strata::device::cuda
