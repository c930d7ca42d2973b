// Drawing without replacement, for ever.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "loadbalance/random.h"
#include "loadbalance/sample.h"

namespace strata::loadbalance {

// Deals its cards in random order; when all are dealt, shuffles and starts over. Shuffling happens
// card by card as they are dealt (Fisher-Yates), so a large deck never stalls a step.
class EpochSampler {
 public:
  EpochSampler(std::vector<Sample> cards, uint64_t seed);

  size_t size() const { return cards_.size(); }

  // Fills `hand` with the next cards. The deck must not be empty.
  void deal(std::span<Sample> hand);

 private:
  size_t remaining() const { return cards_.size() - dealt_; }
  void deal_from_this_round(std::span<Sample> hand);

  std::vector<Sample> cards_;
  size_t dealt_ = 0;
  Random random_;
};

}  // namespace strata::loadbalance
