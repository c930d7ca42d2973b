// Batches of random tokens, for warm-up before the timed region and for benchmarks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bert/config.h"
#include "data/files/packed_batch.h"

namespace strata::training {

// Sequences of these lengths, of which so many tokens are masked each, at most all.
data::PackedBatch synthetic_batch(const bert::BertConfig& model, std::span<const int32_t> lengths,
                                  std::span<const int32_t> masked, uint64_t seed);
// How many tokens of a sequence of `length` the recipe masks: 15 %, at least one, at most 76.
int32_t masked_by_recipe(int32_t length);
// The same with as many tokens masked as the recipe of MLPerf masks.
data::PackedBatch synthetic_batch(const bert::BertConfig& model, std::span<const int32_t> lengths,
                                  uint64_t seed);

// Lengths that fill exactly `tokens` tokens, drawn with MLPerf Wikipedia's shares of short and full
// sequences: 6:3:2:5 in (0,128], (128,256], (256,384], (384,512] (docs/method.md, section 1.1).
std::vector<int32_t> wikipedia_lengths(int64_t tokens, int32_t max_length, uint64_t seed);

}  // namespace strata::training
