// Keeps a stream busy.
#pragma once

#include <cuda_runtime.h>

namespace strata::device::cuda {

// Makes the stream wait for 2000 clock cycles per microsecond: for `microseconds` at 2 GHz, longer
// on a slower clock. Requires 0 <= microseconds <= 1'000'000.
void delay(cudaStream_t stream, int microseconds);

}  // namespace strata::device::cuda
