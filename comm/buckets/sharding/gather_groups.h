// Gather groups, as FSDP has them, of the parameter arena: weights that are gathered, written and
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
std::vector<Range> make_gather_groups(std::span<const int64_t> boundaries,
                                      const std::vector<Range>& buckets);

// Memory of gather groups. The first and the last group are used during the whole step and have
// memory of their own. The others share two slots alternately, so that neighbours are in memory at
// once. The others are whole layers with the same layout, so that gaps between parameters coincide
// and stay zero.
struct GatherGroupMemory {
  std::vector<device::Arena::Run> runs;  // one per gather group
  int64_t elements = 0;
};
GatherGroupMemory place_gather_groups(const std::vector<Range>& groups);

}  // namespace strata::comm
