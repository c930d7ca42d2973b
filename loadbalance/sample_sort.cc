#include "loadbalance/sample_sort.h"

#include <algorithm>

namespace strata::loadbalance {

SampleSort::SampleSort(uint32_t longest) : begins_(size_t{longest} + 2) {}

std::span<const Sample> SampleSort::longest_first(std::span<const Sample> samples) {
  const size_t longest = begins_.size() - 2;
  sorted_.resize(samples.size());
  std::fill(begins_.begin(), begins_.end(), 0u);
  for (const Sample& sample : samples) ++begins_[longest - sample.length + 1];
  for (size_t i = 1; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
  for (const Sample& sample : samples) sorted_[begins_[longest - sample.length]++] = sample;
  return sorted_;
}

void deal_serpentine(std::span<const Sample> sorted, int ranks, std::span<uint32_t> batches) {
  const size_t rank_count = static_cast<size_t>(ranks), per_rank = sorted.size() / rank_count;
  for (size_t i = 0; i < sorted.size(); ++i) {
    const size_t round = i / rank_count, place = i % rank_count;
    const size_t rank = round % 2 == 0 ? place : rank_count - 1 - place;
    batches[rank * per_rank + round] = sorted[i].number;
  }
}

}  // namespace strata::loadbalance
