// Sorts and deals the samples of a batch by length.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "loadbalance/sample.h"

namespace strata::loadbalance {

// Sorts samples by length, longest first, with a stable counting sort.
class SampleSort {
 public:
  // For samples of at most `longest` tokens.
  explicit SampleSort(uint32_t longest);

  // The result is valid until the next call.
  std::span<const Sample> longest_first(std::span<const Sample> samples);

 private:
  std::vector<uint32_t> begins_;  // per length from the longest: index of its first sample
  std::vector<Sample> sorted_;
};

// Deals `sorted` to `ranks`, the same number to each, in rounds that alternate in direction: 0, 1,
// ..., ranks - 1, ranks - 1, ..., 0. Writes batches[rank * per_rank + round].
void deal_serpentine(std::span<const Sample> sorted, int ranks, std::span<uint32_t> batches);

}  // namespace strata::loadbalance
