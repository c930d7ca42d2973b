// Pretraining instances in memory, all samples one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata::data {

// N samples, T tokens, M masked positions. Sample i has the tokens [token_offsets[i],
// token_offsets[i+1]) and the masked positions [masked_offsets[i], masked_offsets[i+1]).
struct Instances {
  std::vector<int32_t> tokens;            // [T] as in the model's input, with masked ones replaced
  std::vector<uint64_t> token_offsets;    // [N+1]
  std::vector<int32_t> first_lengths;     // [N] tokens of segment 0: [CLS], first sentence, [SEP]
  std::vector<int32_t> masked_positions;  // [M] inside the sample, ascending
  std::vector<int32_t> masked_ids;        // [M] original tokens at these positions
  std::vector<uint64_t> masked_offsets;   // [N+1]
  std::vector<uint8_t> next_sentence;     // [N] 0: the second sentence follows, 1: it is random
  std::vector<uint32_t> documents;  // [2N] documents of the first and second sentence; may be empty

  Instances() : token_offsets{0}, masked_offsets{0} {}
  size_t size() const { return next_sentence.size(); }

  // Appends instance `index` of `from`. If this object has documents, `from` must have them, too.
  void append(const Instances& from, size_t index);
};

}  // namespace strata::data
