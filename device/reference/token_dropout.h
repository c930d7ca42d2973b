// Dropout on the hidden units of the tokens of a packed batch.
#pragma once

#include <vector>

#include "device/reference/arguments.h"

namespace strata::device::reference {

// Knows the sample and the position in it of every token.
class TokenDropout {
 public:
  // `sequences` is checked, and used, only where dropout is on.
  TokenDropout(const Arguments& arguments, const Dropout& dropout, const Sequences& sequences,
               int64_t tokens);

  // What hidden unit `column` of `token` is multiplied by.
  double factor(int64_t token, int64_t column) const;

 private:
  struct Place {
    uint64_t sample_id;
    uint32_t position;
  };
  Dropout dropout_;
  std::vector<Place> places_;  // [T], empty where dropout is off
};

}  // namespace strata::device::reference
