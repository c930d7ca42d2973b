// Dropout on the hidden units of a packed batch, keyed by each token's sample and position.
#pragma once

#include <cstdint>

#include "device/operations/operations.h"

namespace strata::device::plain {

class TokenDropout {
 public:
  // `sequences` is read only if dropout is enabled.
  TokenDropout(const Dropout& dropout, const Sequences& sequences)
      : dropout_(dropout), sequences_(sequences) {}

  // Advances to token `t`. Tokens must come in ascending order.
  void next(int64_t t) {
    if (dropout_.probability == 0) return;
    while (t >= sequences_.cu_seqlens[sequence_ + 1]) ++sequence_;
    position_ = static_cast<uint32_t>(t - sequences_.cu_seqlens[sequence_]);
  }
  // Returns the factor of hidden unit `column` in the current token.
  float factor(int64_t column) const {
    if (dropout_.probability == 0) return 1;
    return dropout_factor(dropout_, sequences_.sample_ids[sequence_], position_,
                          static_cast<uint32_t>(column));
  }

 private:
  const Dropout& dropout_;
  const Sequences& sequences_;
  int32_t sequence_ = 0;
  uint32_t position_ = 0;
};

}  // namespace strata::device::plain
