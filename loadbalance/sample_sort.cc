#include "loadbalance/sample_sort.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace strata::loadbalance {

std::vector<uint16_t> compact_lengths(std::span<const int32_t> lengths) {
  std::vector<uint16_t> result(lengths.size());
  for (size_t sample = 0; sample < lengths.size(); ++sample) {
    if (lengths[sample] < 1 || lengths[sample] > std::numeric_limits<uint16_t>::max()) {
      fail("sample {} has {} tokens: lengths from 1 to {} can be planned", sample, lengths[sample],
           std::numeric_limits<uint16_t>::max());
    }
    result[sample] = static_cast<uint16_t>(lengths[sample]);
  }
  return result;
}

SampleSort::SampleSort(std::span<const uint16_t> lengths) : lengths_(lengths) {
  const uint16_t longest = *std::max_element(lengths.begin(), lengths.end());
  begins_.resize(longest + 2u);
}

std::span<const uint32_t> SampleSort::longest_first(std::span<const uint32_t> samples) {
  const size_t longest = begins_.size() - 2;
  keys_.resize(samples.size());
  sorted_.resize(samples.size());
  sorted_lengths_.resize(samples.size());
  std::fill(begins_.begin(), begins_.end(), 0u);
  for (size_t i = 0; i < samples.size(); ++i) {
    keys_[i] = lengths_[samples[i]];
    ++begins_[longest - keys_[i] + 1];
  }
  for (size_t i = 1; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
  for (size_t i = 0; i < samples.size(); ++i) {
    const uint32_t place = begins_[longest - keys_[i]]++;
    sorted_[place] = samples[i];
    sorted_lengths_[place] = keys_[i];
  }
  return sorted_;
}

void deal_serpentine(std::span<const uint32_t> sorted, int ranks, std::span<uint32_t> batches) {
  const size_t rank_count = static_cast<size_t>(ranks), per_rank = sorted.size() / rank_count;
  for (size_t i = 0; i < sorted.size(); ++i) {
    const size_t round = i / rank_count, place = i % rank_count;
    const size_t rank = round % 2 == 0 ? place : rank_count - 1 - place;
    batches[rank * per_rank + round] = sorted[i];
  }
}

}  // namespace strata::loadbalance
