#include "training/batches/synthetic_batch.h"

#include <algorithm>

#include "device/operations/dropout.h"

namespace strata::training {
namespace {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  // Uniform enough in [0, bound) for made-up data.
  int32_t below(int64_t bound) {
    return static_cast<int32_t>(splitmix64(state_++) % static_cast<uint64_t>(bound));
  }

 private:
  uint64_t state_;
};

}  // namespace

int32_t masked_by_recipe(int32_t length) {
  constexpr int32_t kMaxPredictions = 76;
  return std::clamp(length * 15 / 100, 1, kMaxPredictions);
}

data::PackedBatch synthetic_batch(const bert::BertConfig& model, std::span<const int32_t> lengths,
                                  std::span<const int32_t> masked, uint64_t seed) {
  Random random(splitmix64(seed));
  data::PackedBatch batch;
  batch.cu_seqlens.push_back(0);
  for (size_t sample = 0; sample < lengths.size(); ++sample) {
    const int32_t length = lengths[sample], first = batch.cu_seqlens.back();
    for (int32_t position = 0; position < length; ++position) {
      batch.tokens.push_back(random.below(model.vocab_size));
      batch.segments.push_back(position < length / 2 ? 0 : 1);
      batch.positions.push_back(position);
    }
    for (int32_t i = 0; i < masked[sample]; ++i) {
      batch.masked_positions.push_back(first + i * (length / masked[sample]));
      batch.masked_ids.push_back(random.below(model.vocab_size));
    }
    batch.next_sentence.push_back(random.below(2));
    batch.sample_ids.push_back(sample);
    batch.cu_seqlens.push_back(first + length);
  }
  return batch;
}

data::PackedBatch synthetic_batch(const bert::BertConfig& model, std::span<const int32_t> lengths,
                                  uint64_t seed) {
  std::vector<int32_t> masked;
  for (const int32_t length : lengths) {
    masked.push_back(masked_by_recipe(length));
  }
  return synthetic_batch(model, lengths, masked, seed);
}

std::vector<int32_t> wikipedia_lengths(int64_t tokens, int32_t max_length, uint64_t seed) {
  Random random(splitmix64(seed));
  std::vector<int32_t> lengths;
  for (int64_t left = tokens; left > 0;) {
    const int32_t share = random.below(16);
    const int32_t stratum = share < 6 ? 0 : share < 9 ? 1 : share < 11 ? 2 : 3;
    // About two thirds of the last stratum are sequences cut at the limit.
    const int32_t drawn =
        stratum == 3 && random.below(3) > 0 ? 512 : stratum * 128 + 1 + random.below(128);
    lengths.push_back(static_cast<int32_t>(std::min<int64_t>({drawn, max_length, left})));
    left -= lengths.back();
  }
  return lengths;
}

}  // namespace strata::training
