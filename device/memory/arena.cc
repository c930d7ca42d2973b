#include "device/memory/arena.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace strata::device {

Arena::Arena(const Tensor& whole)
    : memory_(whole), size_(whole.size()), runs_{{{0, whole.size()}, 0}} {}

Arena::Arena(const Tensor& memory, int64_t size, std::vector<Run> runs)
    : memory_(memory), size_(size), runs_(std::move(runs)) {}

int64_t Arena::place_of(const Range& range) const {
  const auto after = std::ranges::upper_bound(runs_, range.begin, {},
                                              [](const Run& run) { return run.range.begin; });
  if (after == runs_.begin()) return -1;
  const Run& run = *std::prev(after);
  return range.end <= run.range.end ? run.place + range.begin - run.range.begin : -1;
}

Tensor elements_of(const Arena& arena, const Range& range) {
  if (!arena) return {};
  const int64_t place = arena.place_of(range);
  if (place < 0) {
    fail("elements [{}, {}) are not contiguous in this rank's memory", range.begin, range.end);
  }
  return elements_of(arena.memory(), {place, place + range.size()});
}

std::vector<Arena::Run> packed(std::span<const Range> ranges) {
  std::vector<Arena::Run> runs;
  int64_t place = 0;
  for (const Range& range : ranges) {
    runs.push_back({range, place});
    place += range.size();
  }
  return runs;
}

int64_t total_size(std::span<const Range> ranges) {
  int64_t size = 0;
  for (const Range& range : ranges) size += range.size();
  return size;
}

}  // namespace strata::device
