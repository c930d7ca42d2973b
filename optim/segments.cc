#include "optim/segments.h"

#include "base/error.h"

namespace strata::optim {

void check_segments(std::span<const ParameterSegment> segments, int64_t arena_size) {
  int64_t expected = 0;
  for (const ParameterSegment& segment : segments) {
    if (segment.offset != expected || segment.size < 0) {
      fail("parameter segment at {} of size {}: the next segment must start at {}", segment.offset,
           segment.size, expected);
    }
    expected += segment.size;
  }
  if (expected != arena_size) {
    fail("parameter segments end at {}, but the arena ends at {}", expected, arena_size);
  }
}

std::vector<ParameterSegment> merged(std::span<const ParameterSegment> segments,
                                     MergedSegments which) {
  std::vector<ParameterSegment> result;
  for (const ParameterSegment& segment : segments) {
    const bool alike = !result.empty() && result.back().decay == segment.decay;
    if (alike && (which == MergedSegments::kAll || !segment.decay)) {
      result.back().size += segment.size;
    } else {
      result.push_back(segment);
    }
  }
  return result;
}

}  // namespace strata::optim
