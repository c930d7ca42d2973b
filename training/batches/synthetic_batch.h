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
// The same with 15 % of the tokens masked (at least one, at most 76 as in MLPerf).
data::PackedBatch synthetic_batch(const bert::BertConfig& model, std::span<const int32_t> lengths,
                                  uint64_t seed);

// Lengths that fill exactly `tokens` tokens, drawn with MLPerf Wikipedia's shares of short and full
// sequences: 6:3:2:5 in (0,128], (128,256], (256,384], (384,512] (docs/method.md, section 1.1).
std::vector<int32_t> wikipedia_lengths(int64_t tokens, int32_t max_length, uint64_t seed);

}  // namespace strata::training
