#include "device/reference/token_dropout.h"

namespace strata::device::reference {

TokenDropout::TokenDropout(const Arguments& arguments, const Dropout& dropout,
                           const Sequences& sequences, int64_t tokens)
    : dropout_(dropout) {
  if (dropout.probability == 0.0f) return;
  arguments.sequences(sequences, tokens);
  for (int32_t b = 0; b < sequences.count; ++b) {
    const int32_t length = sequences.cu_seqlens[b + 1] - sequences.cu_seqlens[b];
    for (int32_t position = 0; position < length; ++position) {
      places_.push_back({sequences.sample_ids[b], static_cast<uint32_t>(position)});
    }
  }
}

double TokenDropout::factor(int64_t token, int64_t column) const {
  if (places_.empty()) return 1.0;
  const Place& place = places_[token];
  return dropout_factor(dropout_, place.sample_id, place.position, static_cast<uint32_t>(column));
}

}  // namespace strata::device::reference
