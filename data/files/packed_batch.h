// A micro-batch in the model's form: samples one after the other, without padding.
#pragma once

#include <cstdint>
#include <vector>

namespace strata::data {

// B samples, T tokens, M masked positions, in host memory. B = sample_ids.size().
struct PackedBatch {
  std::vector<int32_t> tokens;            // [T] vocabulary ids, [CLS] first in every sample
  std::vector<int32_t> segments;          // [T] 0 or 1
  std::vector<int32_t> positions;         // [T] 0, 1, ... inside each sample
  std::vector<int32_t> cu_seqlens;        // [B+1] first token of each sample; last is T
  std::vector<int32_t> masked_positions;  // [M] indices into T, ascending
  std::vector<int32_t> masked_ids;        // [M] original tokens at these positions
  std::vector<int32_t> next_sentence;     // [B] 0: the second sentence follows, 1: it is random
  std::vector<uint64_t> sample_ids;       // [B] index of each sample in its data set
};

}  // namespace strata::data
