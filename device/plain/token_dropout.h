// Dropout on the hidden units of a packed batch: which sample and position a token has.
#pragma once

#include <cstdint>

#include "device/operations/operations.h"

namespace strata::device::plain {

class TokenDropout {
 public:
  // `sequences` is read only where dropout is on.
  TokenDropout(const Dropout& dropout, const Sequences& sequences)
      : dropout_(dropout), sequences_(sequences) {}

  // Goes on to token `t`; tokens come in order.
  void next(int64_t t) {
    if (dropout_.probability == 0) return;
    while (t >= sequences_.cu_seqlens[sequence_ + 1]) ++sequence_;
    position_ = static_cast<uint32_t>(t - sequences_.cu_seqlens[sequence_]);
  }
  // What hidden unit `column` of that token is multiplied by.
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
