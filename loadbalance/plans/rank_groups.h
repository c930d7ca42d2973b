// Neighbouring ranks that pool their samples.
#pragma once

#include <algorithm>
#include <vector>

namespace strata::loadbalance {

struct RankGroup {
  int first = 0;
  int ranks = 1;
};

// Returns groups of `group_ranks`; the last may be smaller.
inline std::vector<RankGroup> rank_groups(int ranks, int group_ranks) {
  std::vector<RankGroup> groups;
  for (int first = 0; first < ranks; first += group_ranks) {
    groups.push_back({first, std::min(group_ranks, ranks - first)});
  }
  return groups;
}

}  // namespace strata::loadbalance
