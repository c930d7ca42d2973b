// Units of the parameter arena: what is gathered, written and released together where a rank has no
// memory for all of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/range.h"
#include "device/memory/arena.h"

namespace strata::comm {

// The smallest runs that begin and end both at one of `boundaries` (0, rising, ..., n) and with a
// bucket: a block, where it has at least a bucket's elements, else several.
std::vector<Range> make_units(std::span<const int64_t> boundaries,
                              const std::vector<Range>& buckets);

// Memory for units. The first and the last, which are in use as long as a step lasts, have some of
// their own; the others take turns in two slots as large as the largest of them, so that neighbours
// are in memory at once. These are whole layers, laid out alike: gaps between parameters lie where
// others were, and stay zero.
struct UnitMemory {
  std::vector<device::Arena::Run> runs;  // units
  int64_t elements = 0;
};
UnitMemory place_units(const std::vector<Range>& units);

}  // namespace strata::comm
