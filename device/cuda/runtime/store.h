// A few bytes from the host into device memory, as arguments of a kernel.
#pragma once

#include "device/cuda/runtime/runtime.h"

namespace strata::device::cuda {

// At most Backend::kMostStored of `values`, which may be changed at once.
void store(cudaStream_t stream, void* device, const void* values, size_t bytes);

}  // namespace strata::device::cuda
