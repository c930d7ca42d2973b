#include "loadbalance/proportional_counts.h"

#include <algorithm>
#include <numeric>

namespace strata::loadbalance {
namespace {

int64_t ceil_divide(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

ProportionalCounts::ProportionalCounts(std::span<const uint32_t> weights, int total)
    : sum_(std::accumulate(weights.begin(), weights.end(), int64_t{0})),
      extra_(total),
      counts_(weights.size()) {
  for (const uint32_t weight : weights) {
    const int64_t share = int64_t{weight} * total;
    kinds_.push_back({.whole = share / sum_, .numerator = share % sum_});
    extra_ -= static_cast<int>(share / sum_);
  }
}

// Returns when the next extra of this kind is due, in calls from now, and its urgency.
ProportionalCounts::Claim ProportionalCounts::claim_of(size_t index) const {
  const Kind& kind = kinds_[index];
  Claim claim{.kind = index};
  claim.deadline = ceil_divide(sum_ - kind.lag, kind.numerator);
  // Debt that remains when this extra is given at its deadline. If it is positive, a late extra
  // leaves one call fewer for the next one.
  const int64_t owed = kind.lag + claim.deadline * kind.numerator - sum_;
  claim.next_overlaps = owed > 0;
  // A kind that gets an extra in most calls: the first call in which it can pause after this
  // deadline.
  if (claim.next_overlaps && 2 * kind.numerator >= sum_) {
    claim.group_deadline = claim.deadline + ceil_divide(owed, sum_ - kind.numerator);
  }
  return claim;
}

std::span<const int> ProportionalCounts::next() {
  claims_.clear();
  for (size_t k = 0; k < kinds_.size(); ++k) {
    counts_[k] = static_cast<int>(kinds_[k].whole);
    if (kinds_[k].lag + kinds_[k].numerator > 0) claims_.push_back(claim_of(k));
  }
  std::sort(claims_.begin(), claims_.end(), [](const Claim& a, const Claim& b) {
    if (a.deadline != b.deadline) return a.deadline < b.deadline;
    if (a.next_overlaps != b.next_overlaps) return a.next_overlaps;
    if (a.group_deadline != b.group_deadline) return a.group_deadline > b.group_deadline;
    return a.kind < b.kind;
  });
  for (Kind& kind : kinds_) kind.lag += kind.numerator;
  for (int i = 0; i < extra_; ++i) {
    ++counts_[claims_[i].kind];
    kinds_[claims_[i].kind].lag -= sum_;
  }
  return counts_;
}

}  // namespace strata::loadbalance
