// Gather groups, as in FSDP: ranges of the parameter arena. A rank without memory for all weights
// gathers and releases a group's weights together. Gradients may share memory likewise.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/range.h"
#include "device/memory/arena.h"

namespace strata::comm {

// Cuts the arena into the smallest ranges that end both at one of `boundaries` (0, ascending, ...,
// n) and at a bucket's end: a block with at least a bucket's elements, or several smaller blocks.
std::vector<Range> make_gather_groups(std::span<const int64_t> boundaries,
                                      const std::vector<Range>& buckets);

// Memory of gather groups. The first and the last group are used during the whole step and have
// memory of their own. The groups between them use two slots alternately, so that two neighbours
// are in memory at once. These groups are whole layers with the same layout, so that gaps between
// parameters coincide and stay zero.
struct GatherGroupMemory {
  std::vector<device::Arena::Run> runs;  // one per gather group
  int64_t elements = 0;
};
GatherGroupMemory place_gather_groups(const std::vector<Range>& groups);

}  // namespace strata::comm
