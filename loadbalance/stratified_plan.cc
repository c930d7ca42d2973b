#include "loadbalance/stratified_plan.h"

#include <algorithm>

#include "base/error.h"

namespace strata::loadbalance {
namespace {

std::vector<ShuffledDeck> cut_by_length(const PlanOptions& options,
                                        std::span<const int32_t> lengths) {
  const std::vector<int>& bounds = options.strata_bounds;
  std::vector<std::vector<uint32_t>> members(bounds.size());
  for (size_t sample = 0; sample < lengths.size(); ++sample) {
    const auto stratum = std::lower_bound(bounds.begin(), bounds.end(), lengths[sample]);
    if (stratum == bounds.end()) {
      fail("sample {} has {} tokens, above the last of strata_bounds, {}", sample, lengths[sample],
           bounds.back());
    }
    members[static_cast<size_t>(stratum - bounds.begin())].push_back(static_cast<uint32_t>(sample));
  }
  std::vector<ShuffledDeck> strata;
  for (auto& cards : members) {
    const uint64_t stratum = strata.size();
    if (!cards.empty()) {
      strata.emplace_back(std::move(cards), device::splitmix64(options.seed + stratum));
    }
  }
  return strata;
}

std::vector<uint32_t> sizes_of(std::span<const ShuffledDeck> strata) {
  std::vector<uint32_t> sizes;
  for (const ShuffledDeck& stratum : strata) {
    sizes.push_back(static_cast<uint32_t>(stratum.size()));
  }
  return sizes;
}

}  // namespace

StratifiedPlan::StratifiedPlan(const PlanOptions& options, std::span<const int32_t> lengths)
    : strata_(cut_by_length(options, lengths)),
      sizes_(sizes_of(strata_)),
      left_(sizes_),
      counts_(sizes_, options.batch_per_rank),
      batch_(static_cast<size_t>(options.ranks) * options.batch_per_rank),
      batch_per_rank_(static_cast<size_t>(options.batch_per_rank)) {}

std::span<const uint32_t> StratifiedPlan::next_step() {
  for (size_t begin = 0; begin < batch_.size(); begin += batch_per_rank_) {
    deal_local_batch(std::span(batch_).subspan(begin, batch_per_rank_));
  }
  return batch_;
}

// Counts are less than one from their exact share at every local batch, and shares are whole at the
// end of an epoch. So where an epoch ends inside a local batch, the counts cover what is left of
// every stratum: those samples come first, then the next epoch's.
void StratifiedPlan::deal_local_batch(std::span<uint32_t> local_batch) {
  const std::span<const int> counts = counts_.next();
  this_epoch_.clear();
  for (size_t k = 0; k < strata_.size(); ++k) {
    this_epoch_.push_back(std::min(static_cast<uint32_t>(counts[k]), left_[k]));
    local_batch = deal(k, this_epoch_[k], local_batch);
  }
  if (local_batch.empty()) return;
  left_ = sizes_;
  for (size_t k = 0; k < strata_.size(); ++k) {
    local_batch = deal(k, static_cast<uint32_t>(counts[k]) - this_epoch_[k], local_batch);
  }
}

// Returns what is still to be filled.
std::span<uint32_t> StratifiedPlan::deal(size_t stratum, uint32_t count,
                                         std::span<uint32_t> local_batch) {
  strata_[stratum].deal(local_batch.first(count));
  left_[stratum] -= count;
  return local_batch.subspan(count);
}

}  // namespace strata::loadbalance
