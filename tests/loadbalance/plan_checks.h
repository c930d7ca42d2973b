// What plan tests share: length data and draws over several epochs.
#pragma once

#include <cstdint>
#include <vector>

#include "loadbalance/plans/batch_plan.h"
#include "loadbalance/random.h"

namespace strata::loadbalance {

inline std::vector<int32_t> random_lengths(size_t samples, uint64_t seed) {
  Random random(seed);
  std::vector<int32_t> lengths(samples);
  for (int32_t& length : lengths) {
    length = random.below(3) == 0 ? 512 : 1 + static_cast<int32_t>(random.below(512));
  }
  return lengths;
}

// The first `draws` samples of a plan, in order.
inline std::vector<uint32_t> draw(const PlanOptions& options, const std::vector<int32_t>& lengths,
                                  size_t draws) {
  const auto plan = make_batch_plan(options, lengths);
  std::vector<uint32_t> result;
  while (result.size() < draws) {
    const auto step = plan->next_step();
    result.insert(result.end(), step.begin(), step.end());
  }
  result.resize(draws);
  return result;
}

}  // namespace strata::loadbalance
