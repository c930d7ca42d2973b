// How the gradient arena is cut into buckets.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/range.h"

namespace strata::comm {

// Joins the ranges between `boundaries` (0, rising, ..., n) until they hold `bucket_elements`, and
// cuts what holds several times that much into equal parts at multiples of 64 elements, so that one
// large tensor does not make one large bucket. `first`, where it is not empty, has buckets of its
// own before all others. Throws Error where the boundaries do not rise from 0.
std::vector<Range> make_buckets(std::span<const int64_t> boundaries, int64_t bucket_elements,
                                const Range& first = {});

}  // namespace strata::comm
