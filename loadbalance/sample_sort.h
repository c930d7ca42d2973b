// Sorting and dealing the samples of a batch by length.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace strata::loadbalance {

// Tokens of every sample in the least memory, since plans look them up at random. Throws Error for
// a length outside [1, 65535].
std::vector<uint16_t> compact_lengths(std::span<const int32_t> lengths);

// Sorts samples by length, longest first, keeping the order of equals: a counting sort.
class SampleSort {
 public:
  // `lengths` of every sample outlive this.
  explicit SampleSort(std::span<const uint16_t> lengths);

  // Valid until the next call.
  std::span<const uint32_t> longest_first(std::span<const uint32_t> samples);
  // Of the samples last returned, in their order.
  std::span<const uint16_t> sorted_lengths() const { return sorted_lengths_; }

 private:
  std::span<const uint16_t> lengths_;
  std::vector<uint32_t> begins_;  // per length, where its samples start
  std::vector<uint16_t> keys_;    // lengths of the samples as they came: looked up once
  std::vector<uint32_t> sorted_;
  std::vector<uint16_t> sorted_lengths_;
};

// Deals `sorted` to `ranks`, which get equally many, in rounds that alternate in direction: 0, 1,
// ..., ranks - 1, ranks - 1, ..., 0. The result is batches[rank * per_rank + round].
void deal_serpentine(std::span<const uint32_t> sorted, int ranks, std::span<uint32_t> batches);

}  // namespace strata::loadbalance
