// Sorting and dealing the samples of a batch by length.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "loadbalance/sample.h"

namespace strata::loadbalance {

// Sorts samples by length, longest first, keeping the order of equals: a counting sort.
class SampleSort {
 public:
  // For samples of at most `longest` tokens.
  explicit SampleSort(uint32_t longest);

  // Valid until the next call.
  std::span<const Sample> longest_first(std::span<const Sample> samples);

 private:
  std::vector<uint32_t> begins_;  // per length from the longest, where its samples start
  std::vector<Sample> sorted_;
};

// Deals `sorted` to `ranks`, which get equally many, in rounds that alternate in direction: 0, 1,
// ..., ranks - 1, ranks - 1, ..., 0. The result is batches[rank * per_rank + round].
void deal_serpentine(std::span<const Sample> sorted, int ranks, std::span<uint32_t> batches);

}  // namespace strata::loadbalance
