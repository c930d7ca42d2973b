// Cuts the gradient arena into buckets.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/range.h"

namespace strata::comm {

// Joins the ranges between `boundaries` (0, ascending, ..., n) until they hold `bucket_elements`.
// Cuts a range of several times that size into equal parts at multiples of 64 elements, so that one
// large tensor does not make one large bucket. If `first` is not empty, its buckets come before all
// others. Throws Error if the boundaries do not ascend from 0.
std::vector<Range> make_buckets(std::span<const int64_t> boundaries, int64_t bucket_elements,
                                const Range& first = {});

}  // namespace strata::comm
