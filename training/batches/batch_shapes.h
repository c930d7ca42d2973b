// The shapes of a run's micro-batches, which the lengths of its samples tell.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "bert/batches/device_batch.h"
#include "bert/config.h"
#include "data/files/instance_file.h"

namespace strata::training {

// What just holds a batch of these samples of `source`.
bert::BatchCapacity capacity_of(const data::InstanceSource& source,
                                std::span<const uint32_t> samples);

// What of a sample shapes its batch.
struct SampleShape {
  int32_t length = 0;  // tokens
  int32_t masked = 0;  // positions
};

SampleShape shape_of(const data::SampleClass& alike);

class BatchShapes {
 public:
  // Batches are rounded up as `rounding` says.
  explicit BatchShapes(const bert::BatchRounding& rounding) : rounding_(rounding) {}

  // One micro-batch, of these samples.
  void add(std::span<const SampleShape> samples);

  // One of each shape: what comes most often first, then what came first.
  std::vector<std::vector<SampleShape>> most_frequent() const;
  // Enough of them to have all numbers of samples, of tokens and of masked positions that all have,
  // if numbers of the latter that round up to the same multiple of `rows` are taken for one.
  std::vector<std::vector<SampleShape>> covering(int64_t rows) const;

 private:
  struct Seen {
    std::vector<SampleShape> samples;  // of the first
    int64_t times = 0;
    size_t order = 0;
  };
  using Entry = std::pair<const bert::BatchShape, Seen>;
  std::vector<const Entry*> by_frequency() const;

  bert::BatchRounding rounding_;
  std::map<bert::BatchShape, Seen> seen_;
};

// Such samples, of random tokens.
data::PackedBatch synthetic_batch(const bert::BertConfig& model,
                                  std::span<const SampleShape> samples);

}  // namespace strata::training
