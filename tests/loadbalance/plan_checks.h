// Shared by plan tests: length data and draws over several epochs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "loadbalance/plans/batch_plan.h"
#include "loadbalance/random.h"
#include "loadbalance/sample.h"

namespace strata::loadbalance {

// Lengths by sample number, hence ascending.
using Lengths = std::vector<uint16_t>;

inline Lengths random_lengths(size_t samples, uint64_t seed) {
  Random random(seed);
  Lengths lengths(samples);
  for (uint16_t& length : lengths) {
    length = static_cast<uint16_t>(random.below(3) == 0 ? 512 : 1 + random.below(512));
  }
  std::sort(lengths.begin(), lengths.end());
  return lengths;
}

inline std::vector<Sample> samples_of(const Lengths& lengths) {
  std::vector<Sample> samples;
  for (const uint16_t length : lengths) {
    samples.push_back({static_cast<uint32_t>(samples.size()), length});
  }
  return samples;
}

// Returns the first `draws` samples of a plan, in order.
inline std::vector<uint32_t> draw(const PlanOptions& options, const Lengths& lengths,
                                  size_t draws) {
  const auto plan = make_batch_plan(options, histogram_of(lengths));
  std::vector<uint32_t> result;
  while (result.size() < draws) {
    const auto step = plan->next_step();
    result.insert(result.end(), step.begin(), step.end());
  }
  result.resize(draws);
  return result;
}

}  // namespace strata::loadbalance
