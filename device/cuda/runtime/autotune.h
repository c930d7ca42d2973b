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

// What `issue` has the stream do, on average, in milliseconds: of 3 runs, of up to 20 where it is
// short. The host issues all runs while the GPU is busy, so that the time a launch takes the host
// is not in it. To have run once before.
float milliseconds(cudaStream_t stream, const std::function<void()>& issue);

// The time of what cannot run.
inline constexpr float kNever = std::numeric_limits<float>::infinity();

// Whether `time` is below `other` by more than 3 %. All processes should choose alike, as their
// results then have the same bits; times that are closer than that come out either way.
bool is_clearly_faster(float time, float other);

// Of times in the order in which one would choose without them: the first that no other is clearly
// faster than. None where all are kNever.
std::optional<size_t> first_of_fastest(std::span<const float> times);

}  // namespace strata::device::cuda
