// Batches of random tokens, for warm-up before the timed region and for benchmarks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bert/config.h"
#include "data/files/packed_batch.h"

namespace strata::training {

// Returns a batch of random sequences with these lengths. `masked` has the number of masked
// positions of each sequence, at most its length.
data::PackedBatch synthetic_batch(const bert::BertConfig& model, std::span<const int32_t> lengths,
                                  std::span<const int32_t> masked, uint64_t seed);
// Returns how many tokens of a sequence MLPerf's recipe masks: 15 %, at least one, at most 76.
int32_t masked_by_recipe(int32_t length);
// Same as the first synthetic_batch(), with masked_by_recipe() masked positions in each sequence.
data::PackedBatch synthetic_batch(const bert::BertConfig& model, std::span<const int32_t> lengths,
                                  uint64_t seed);

// Returns lengths that add up to `tokens`, drawn with MLPerf Wikipedia's shares of short and full
// sequences: 6:3:2:5 in (0,128], (128,256], (256,384], (384,512] (docs/methods/load_balance.md).
std::vector<int32_t> wikipedia_lengths(int64_t tokens, int32_t max_length, uint64_t seed);

}  // namespace strata::training
