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

void BatchShapes::add(std::span<const uint32_t> samples) {
  int32_t longest = 0;
  for (const uint32_t sample : samples) longest = std::max(longest, source_.lengths()[sample]);
  Seen& seen = seen_[rounding_.shape_of(capacity_of(source_, samples), longest)];
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

std::vector<std::vector<uint32_t>> BatchShapes::most_frequent() const {
  std::vector<std::vector<uint32_t>> batches;
  for (const Entry* entry : by_frequency()) batches.push_back(entry->second.samples);
  return batches;
}

std::vector<std::vector<uint32_t>> BatchShapes::covering(int64_t rows) const {
  std::set<int64_t> samples, tokens, masked;
  std::vector<std::vector<uint32_t>> batches;
  for (const Entry* entry : by_frequency()) {
    const auto multiple = [&](int64_t number) { return (number + rows - 1) / rows; };
    const bool new_tokens = tokens.insert(multiple(entry->first.tokens)).second;
    const bool new_masked = masked.insert(multiple(entry->first.masked)).second;
    const bool new_samples = samples.insert(entry->first.samples).second;
    if (new_tokens || new_masked || new_samples) batches.push_back(entry->second.samples);
  }
  return batches;
}

data::PackedBatch synthetic_batch_like(const bert::BertConfig& model,
                                       const data::InstanceSource& source,
                                       std::span<const uint32_t> samples) {
  std::vector<int32_t> lengths, masked;
  for (const uint32_t sample : samples) {
    lengths.push_back(source.lengths()[sample]);
    masked.push_back(source.masked_counts()[sample]);
  }
  return synthetic_batch(model, lengths, masked, samples.empty() ? 0 : samples.front());
}

}  // namespace strata::training
