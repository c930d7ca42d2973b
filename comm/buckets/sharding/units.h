// Units (FSDP's gather groups) of the parameter arena: weights that are gathered, written and
// released together if a rank has no memory for all of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/range.h"
#include "device/memory/arena.h"

namespace strata::comm {

// Returns the smallest ranges that begin and end both at one of `boundaries` (0, ascending, ..., n)
// and at a bucket's edge: a block if it has at least a bucket's elements, else several.
std::vector<Range> make_units(std::span<const int64_t> boundaries,
                              const std::vector<Range>& buckets);

// Memory of units. The first and the last unit are used during the whole step and have memory of
// their own. The others share two slots alternately, so that neighbours are in memory at once. The
// others are whole layers with the same layout, so that gaps between parameters coincide and stay
// zero.
struct UnitMemory {
  std::vector<device::Arena::Run> runs;  // one per unit
  int64_t elements = 0;
};
UnitMemory place_units(const std::vector<Range>& units);

}  // namespace strata::comm
