// Stores a few bytes from the host in device memory by passing them as kernel arguments.
#pragma once

#include "device/cuda/runtime/runtime.h"

namespace strata::device::cuda {

// Copies at most Backend::kMostStored bytes. The caller may change `values` as soon as it returns.
void store(cudaStream_t stream, void* device, const void* values, size_t bytes);

}  // namespace strata::device::cuda
