// Trying out on the GPU what is fastest.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <span>

#include "device/cuda/runtime/runtime.h"

namespace strata::device::cuda {

// Whether the stream's work is being recorded for a graph, so that nothing can be tried.
bool is_captured(cudaStream_t stream);

// Returns the mean time, in milliseconds, that the stream takes for the work of `issue`: over 3
// runs, or up to 20 if the work is short. The host issues all runs while the GPU is busy, so that
// launch overhead does not count. Requires that `issue` has run once before.
float milliseconds(cudaStream_t stream, const std::function<void()>& issue);

// The time of a candidate that cannot run.
inline constexpr float kNever = std::numeric_limits<float>::infinity();

// Whether `time` is below `other` by more than 3 %. All processes should choose alike, as their
// results then have the same bits; times that are closer than that come out either way.
bool is_clearly_faster(float time, float other);

// Returns the index of the first time that the fastest is not clearly faster than, or nullopt if
// all are kNever. `times` are in order of preference.
std::optional<size_t> first_of_fastest(std::span<const float> times);

}  // namespace strata::device::cuda
