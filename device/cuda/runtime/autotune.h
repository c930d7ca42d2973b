// Trying out on the GPU what is fastest.
#pragma once

#include <functional>

#include "device/cuda/runtime/runtime.h"

namespace strata::device::cuda {

// Whether the stream's work is being recorded for a graph, so that nothing can be tried.
bool is_captured(cudaStream_t stream);

// What `issue` has the stream do, on average, in milliseconds. To have run once before.
float milliseconds(cudaStream_t stream, const std::function<void()>& issue);

}  // namespace strata::device::cuda
