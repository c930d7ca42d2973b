// Repeatedly splits a fixed total among kinds in fixed proportions, in integers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace strata::loadbalance {

// Every call to next() splits `total` among kinds of the given weights. A kind of weight w gets the
// floor or ceil of its share total * w / sum(weights). Over any number of calls from the first, it
// differs by less than one from its exact share: errors do not accumulate.
//
// The fractional parts are scheduled like periodic tasks on processors by PD^2, which is optimal
// (Baruah et al., "Proportionate progress", Algorithmica 1996; Srinivasan & Anderson, "Optimal
// rate-based scheduling on multiprocessors", STOC 2002).
class ProportionalCounts {
 public:
  // Weights sum to less than 2^32 and more than 0; total >= 1.
  ProportionalCounts(std::span<const uint32_t> weights, int total);

  // Returns one count per kind; their sum is total. Valid until the next call.
  std::span<const int> next();

 private:
  struct Kind {
    int64_t whole = 0;      // count in every call
    int64_t numerator = 0;  // numerator over sum_ of the diffused fraction
    int64_t lag = 0;        // sum_ * (exact share - given) of fractions so far, in (-sum_, sum_)
  };
  // A kind that may get an extra in this call.
  struct Claim {
    size_t kind = 0;
    // Number of calls within which it must get one to keep its error below one.
    int64_t deadline = 0;
    bool next_overlaps = false;  // waiting until the deadline shortens the time for the next extra
    int64_t group_deadline = 0;  // end of a sequence of such waits, or 0
  };

  Claim claim_of(size_t kind) const;

  int64_t sum_ = 0;
  int extra_ = 0;  // number of kinds that get one more than `whole` in a call
  std::vector<Kind> kinds_;
  std::vector<Claim> claims_;
  std::vector<int> counts_;
};

}  // namespace strata::loadbalance
