// Positions of tensors in an optimizer's arena.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "optim/optimizer.h"

namespace strata::optim {

// Throws Error unless `segments` cover [0, arena_size) without gaps, ascending.
void check_segments(std::span<const ParameterSegment> segments, int64_t arena_size);

// Merges neighbours with the same decay, so that one operation covers them: all of them, or only
// those without decay.
enum class MergedSegments : uint8_t { kAll, kWithoutDecay };
std::vector<ParameterSegment> merged(std::span<const ParameterSegment> segments,
                                     MergedSegments which);

// Calls visit(segment, part) for every segment with elements in `range`; `part` is their
// intersection. Requires checked `segments`.
template <typename Segments, typename Visit>
void for_each_part(Segments& segments, const Range& range, const Visit& visit) {
  auto segment = std::upper_bound(segments.begin(), segments.end(), range.begin,
                                  [](int64_t offset, const ParameterSegment& candidate) {
                                    return offset < candidate.offset + candidate.size;
                                  });
  for (; segment != segments.end() && segment->offset < range.end; ++segment) {
    visit(*segment, Range{std::max(range.begin, segment->offset),
                          std::min(range.end, segment->offset + segment->size)});
  }
}

}  // namespace strata::optim
