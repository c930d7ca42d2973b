// Measures on the GPU which of several kernels is fastest.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <span>

#include "device/cuda/runtime/runtime.h"

namespace strata::device::cuda {

// True if the stream is being captured for a graph, so that nothing can be measured.
bool is_captured(cudaStream_t stream);

// Returns the mean time in milliseconds of the stream for the work of `issue`, over 3 runs, or up
// to 20 for short work. The host issues all runs while the GPU is busy, so that launch overhead
// does not count. Requires that `issue` has run once before.
float milliseconds(cudaStream_t stream, const std::function<void()>& issue);

// Time of a candidate that cannot run.
inline constexpr float kNever = std::numeric_limits<float>::infinity();

// True if `time` is more than 3 % below `other`. Smaller differences are random, and all processes
// should choose alike, so that their results have the same bits.
bool is_clearly_faster(float time, float other);

// Returns the index of the first time that the fastest is not clearly faster than, or nullopt if
// all are kNever. `times` are in order of preference.
std::optional<size_t> first_of_fastest(std::span<const float> times);

}  // namespace strata::device::cuda
