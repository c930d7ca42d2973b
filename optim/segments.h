// Where the tensors lie in the arena that an optimizer passes over.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "optim/optimizer.h"

namespace strata::optim {

// Throws Error unless `segments` cover [0, arena_size) without gaps, in rising order.
void check_segments(std::span<const Segment> segments, int64_t arena_size);

// Neighbours with the same decay as one, so that a pass over them is one operation: all of them, or
// those without decay alone.
enum class MergedSegments : uint8_t { kAll, kWithoutDecay };
std::vector<Segment> merged(std::span<const Segment> segments, MergedSegments which);

// visit(segment, part) for every one of the checked `segments` that has elements in `range`: `part`
// is those of them.
template <typename Segments, typename Visit>
void for_each_part(Segments& segments, const Range& range, const Visit& visit) {
  auto segment = std::upper_bound(segments.begin(), segments.end(), range.begin,
                                  [](int64_t offset, const Segment& candidate) {
                                    return offset < candidate.offset + candidate.size;
                                  });
  for (; segment != segments.end() && segment->offset < range.end; ++segment) {
    visit(*segment, Range{std::max(range.begin, segment->offset),
                          std::min(range.end, segment->offset + segment->size)});
  }
}

}  // namespace strata::optim
