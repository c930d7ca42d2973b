// The shapes of a run's micro-batches, which the lengths of its samples tell before it begins.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "bert/config.h"
#include "bert/device_batch.h"
#include "data/files/instance_file.h"

namespace strata::training {

// What just holds a batch of these samples of `source`.
bert::BatchCapacity capacity_of(const data::InstanceSource& source,
                                std::span<const uint32_t> samples);

class BatchShapes {
 public:
  // `source` must outlive it; batches are rounded up as `rounding` says.
  BatchShapes(const data::InstanceSource& source, const bert::BatchRounding& rounding)
      : source_(source), rounding_(rounding) {}

  // One micro-batch, of these samples of the source.
  void add(std::span<const uint32_t> samples);

  // One of each shape: what comes most often first, then what came first.
  std::vector<std::vector<uint32_t>> most_frequent() const;
  // Enough of them to have all numbers of samples, of tokens and of masked positions that all have,
  // if numbers of the latter that round up to the same multiple of `rows` are taken for one.
  std::vector<std::vector<uint32_t>> covering(int64_t rows) const;

 private:
  struct Seen {
    std::vector<uint32_t> samples;  // of the first
    int64_t times = 0;
    size_t order = 0;
  };
  using Entry = std::pair<const bert::BatchShape, Seen>;
  std::vector<const Entry*> by_frequency() const;

  const data::InstanceSource& source_;
  bert::BatchRounding rounding_;
  std::map<bert::BatchShape, Seen> seen_;
};

// A batch of the shape that these samples of `source` make, of random tokens: nothing of the
// samples is read but their index.
data::PackedBatch synthetic_batch_like(const bert::BertConfig& model,
                                       const data::InstanceSource& source,
                                       std::span<const uint32_t> samples);

}  // namespace strata::training
