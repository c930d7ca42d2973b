// Splitting a fixed total among kinds in fixed proportions, again and again, in whole numbers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace strata::loadbalance {

// Every call to next() splits `total` among kinds of the given weights. A kind of weight w gets
// floor or ceil of its share total * w / sum(weights), and over any number of calls from the first
// it is always less than one away from its exact share: the error is diffused, never accumulated.
//
// The fractional parts are scheduled like periodic tasks on processors by PD^2, which is optimal
// (Baruah et al., "Proportionate progress", Algorithmica 1996; Srinivasan & Anderson, "Optimal
// rate-based scheduling on multiprocessors", STOC 2002).
class ProportionalCounts {
 public:
  // Weights sum to less than 2^32 and more than 0; total >= 1.
  ProportionalCounts(std::span<const uint32_t> weights, int total);

  // One count per kind, summing to total. Valid until the next call.
  std::span<const int> next();

 private:
  struct Kind {
    int64_t whole = 0;      // what every call gives
    int64_t numerator = 0;  // of the fraction over sum_ that is diffused
    int64_t lag = 0;        // sum_ * (exact share - given) of fractions so far, in (-sum_, sum_)
  };
  // A kind that may get one more now.
  struct Claim {
    size_t kind = 0;
    int64_t deadline = 0;        // by which call from now it must, or its error reaches one
    bool next_overlaps = false;  // waiting until then takes time from its next
    int64_t group_deadline = 0;  // until when that goes on; 0: it does not
  };

  Claim claim_of(size_t kind) const;

  int64_t sum_ = 0;
  int extra_ = 0;  // how many kinds get one more than `whole` in a call
  std::vector<Kind> kinds_;
  std::vector<Claim> claims_;
  std::vector<int> counts_;
};

}  // namespace strata::loadbalance
