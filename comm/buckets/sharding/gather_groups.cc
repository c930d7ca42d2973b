#include "comm/buckets/sharding/gather_groups.h"

#include <algorithm>

namespace strata::comm {

std::vector<Range> make_gather_groups(std::span<const int64_t> boundaries,
                                      const std::vector<Range>& buckets) {
  std::vector<Range> groups;
  int64_t begin = 0;
  for (const Range& bucket : buckets) {
    if (!std::ranges::binary_search(boundaries, bucket.end)) continue;
    groups.push_back({begin, bucket.end});
    begin = bucket.end;
  }
  return groups;
}

GatherGroupMemory place_gather_groups(const std::vector<Range>& groups) {
  GatherGroupMemory memory;
  const size_t last = groups.size() - 1;
  int64_t slot = 0;
  for (size_t group = 1; group < last; ++group) slot = std::max(slot, groups[group].size());
  for (size_t group = 0; group <= last; ++group) {
    const bool kept = group == 0 || group == last;
    const int64_t in_slot = static_cast<int64_t>(group % 2) * slot;
    const int64_t own = 2 * slot + (group == 0 ? 0 : groups[0].size());
    memory.runs.push_back({groups[group], kept ? own : in_slot});
    if (kept) memory.elements = own + groups[group].size();
  }
  return memory;
}

}  // namespace strata::comm
