// The shapes of a run's micro-batches, which follow from the lengths of its samples.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "bert/batches/device_batch.h"
#include "bert/config.h"
#include "data/files/instance_file.h"

namespace strata::training {

// Returns the least capacity that holds these samples of `source` as a batch.
bert::BatchCapacity capacity_of(const data::InstanceSource& source,
                                std::span<const uint32_t> samples);

// The properties of a sample that decide its batch's shape.
struct SampleShape {
  int32_t length = 0;  // tokens
  int32_t masked = 0;  // positions
};

SampleShape shape_of(const data::SampleClass& alike);

class BatchShapes {
 public:
  // `rounding` decides how batches are rounded up.
  explicit BatchShapes(const bert::BatchRounding& rounding) : rounding_(rounding) {}

  // Adds a micro-batch with these samples.
  void add(std::span<const SampleShape> samples);

  // Returns one micro-batch per shape, the most frequent first, then by first occurrence.
  std::vector<std::vector<SampleShape>> most_frequent() const;
  // Returns micro-batches that together have every number of samples, tokens and masked positions
  // that add() saw. Tokens, and positions, that round up to the same multiple of `rows` are equal.
  std::vector<std::vector<SampleShape>> covering(int64_t rows) const;

 private:
  struct Seen {
    std::vector<SampleShape> samples;  // samples of the first batch with the shape
    int64_t times = 0;
    size_t order = 0;
  };
  using Entry = std::pair<const bert::BatchShape, Seen>;
  std::vector<const Entry*> by_frequency() const;

  bert::BatchRounding rounding_;
  std::map<bert::BatchShape, Seen> seen_;
};

// Returns a batch of samples with these shapes and random tokens.
data::PackedBatch synthetic_batch(const bert::BertConfig& model,
                                  std::span<const SampleShape> samples);

}  // namespace strata::training
