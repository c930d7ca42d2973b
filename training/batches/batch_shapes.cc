#include "training/batches/batch_shapes.h"

#include <algorithm>
#include <set>

#include "training/batches/synthetic_batch.h"

namespace strata::training {

bert::BatchCapacity capacity_of(const data::InstanceSource& source,
                                std::span<const uint32_t> samples) {
  bert::BatchCapacity size{.sequences = std::ssize(samples)};
  for (const uint32_t sample : samples) {
    size.tokens += source.lengths()[sample];
    size.masked += source.masked_counts()[sample];
  }
  return size;
}

SampleShape shape_of(const data::SampleClass& alike) {
  return {static_cast<int32_t>(alike.length), static_cast<int32_t>(alike.masked)};
}

void BatchShapes::add(std::span<const SampleShape> samples) {
  bert::BatchCapacity size{.sequences = std::ssize(samples)};
  int32_t longest = 0;
  for (const SampleShape& sample : samples) {
    size.tokens += sample.length;
    size.masked += sample.masked;
    longest = std::max(longest, sample.length);
  }
  Seen& seen = seen_[rounding_.shape_of(size, longest)];
  if (seen.times++ > 0) return;
  seen.samples.assign(samples.begin(), samples.end());
  seen.order = seen_.size();
}

std::vector<const BatchShapes::Entry*> BatchShapes::by_frequency() const {
  std::vector<const Entry*> entries;
  for (const Entry& entry : seen_) entries.push_back(&entry);
  std::sort(entries.begin(), entries.end(), [](const Entry* a, const Entry* b) {
    return std::pair(-a->second.times, a->second.order) <
           std::pair(-b->second.times, b->second.order);
  });
  return entries;
}

std::vector<std::vector<SampleShape>> BatchShapes::most_frequent() const {
  std::vector<std::vector<SampleShape>> batches;
  for (const Entry* entry : by_frequency()) batches.push_back(entry->second.samples);
  return batches;
}

std::vector<std::vector<SampleShape>> BatchShapes::covering(int64_t rows) const {
  std::set<int64_t> samples, tokens, masked;
  std::vector<std::vector<SampleShape>> batches;
  for (const Entry* entry : by_frequency()) {
    const auto multiple = [&](int64_t number) { return (number + rows - 1) / rows; };
    const bool new_tokens = tokens.insert(multiple(entry->first.tokens)).second;
    const bool new_masked = masked.insert(multiple(entry->first.masked)).second;
    const bool new_samples = samples.insert(entry->first.samples).second;
    if (new_tokens || new_masked || new_samples) batches.push_back(entry->second.samples);
  }
  return batches;
}

data::PackedBatch synthetic_batch(const bert::BertConfig& model,
                                  std::span<const SampleShape> samples) {
  std::vector<int32_t> lengths, masked;
  uint64_t seed = 0;
  for (const SampleShape& sample : samples) {
    lengths.push_back(sample.length);
    masked.push_back(sample.masked);
    seed += static_cast<uint64_t>(sample.length);
  }
  return synthetic_batch(model, lengths, masked, seed);
}

}  // namespace strata::training
