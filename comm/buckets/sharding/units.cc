#include "comm/buckets/sharding/units.h"

#include <algorithm>

namespace strata::comm {

std::vector<Range> make_units(std::span<const int64_t> boundaries,
                              const std::vector<Range>& buckets) {
  std::vector<Range> units;
  int64_t begin = 0;
  for (const Range& bucket : buckets) {
    if (!std::ranges::binary_search(boundaries, bucket.end)) continue;
    units.push_back({begin, bucket.end});
    begin = bucket.end;
  }
  return units;
}

UnitMemory place_units(const std::vector<Range>& units) {
  UnitMemory memory;
  const size_t last = units.size() - 1;
  int64_t slot = 0;
  for (size_t unit = 1; unit < last; ++unit) slot = std::max(slot, units[unit].size());
  for (size_t unit = 0; unit <= last; ++unit) {
    const bool kept = unit == 0 || unit == last;
    const int64_t in_slot = static_cast<int64_t>(unit % 2) * slot;
    const int64_t own = 2 * slot + (unit == 0 ? 0 : units[0].size());
    memory.runs.push_back({units[unit], kept ? own : in_slot});
    if (kept) memory.elements = own + units[unit].size();
  }
  return memory;
}

}  // namespace strata::comm
