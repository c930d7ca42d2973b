#include "loadbalance/plans/stratified_plan.h"

#include <algorithm>

#include "base/error.h"

namespace strata::loadbalance {
namespace {

std::vector<EpochSampler> cut_by_length(const PlanOptions& options,
                                        std::span<const int32_t> lengths) {
  const std::vector<int>& bounds = options.strata_bounds;
  std::vector<std::vector<Sample>> members(bounds.size());
  for (const Sample& sample : samples_of(lengths)) {
    const auto stratum =
        std::lower_bound(bounds.begin(), bounds.end(), static_cast<int>(sample.length));
    if (stratum == bounds.end()) {
      fail("sample {} has {} tokens, above the last of strata_bounds, {}", sample.number,
           sample.length, bounds.back());
    }
    members[static_cast<size_t>(stratum - bounds.begin())].push_back(sample);
  }
  std::vector<EpochSampler> strata;
  for (auto& cards : members) {
    const uint64_t stratum = strata.size();
    if (!cards.empty()) {
      strata.emplace_back(std::move(cards), splitmix64(options.seed + stratum));
    }
  }
  return strata;
}

std::vector<uint32_t> sizes_of(std::span<const EpochSampler> strata) {
  std::vector<uint32_t> sizes;
  for (const EpochSampler& stratum : strata) {
    sizes.push_back(static_cast<uint32_t>(stratum.size()));
  }
  return sizes;
}

}  // namespace

StratifiedDraw::StratifiedDraw(const PlanOptions& options, std::span<const int32_t> lengths)
    : strata_(cut_by_length(options, lengths)),
      sizes_(sizes_of(strata_)),
      left_(sizes_),
      counts_(sizes_, options.batch_per_rank),
      drawn_(global_batch_of(options)),
      batch_per_rank_(static_cast<size_t>(options.batch_per_rank)) {}

std::span<const Sample> StratifiedDraw::next_step() {
  for (size_t begin = 0; begin < drawn_.size(); begin += batch_per_rank_) {
    deal_local_batch(std::span(drawn_).subspan(begin, batch_per_rank_));
  }
  return drawn_;
}

// Counts are less than one from their exact share at every local batch, and shares are whole at the
// end of an epoch. So where an epoch ends inside a local batch, the counts cover what is left of
// every stratum: those samples come first, then the next epoch's.
void StratifiedDraw::deal_local_batch(std::span<Sample> local_batch) {
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
std::span<Sample> StratifiedDraw::deal(size_t stratum, uint32_t count,
                                       std::span<Sample> local_batch) {
  strata_[stratum].deal(local_batch.first(count));
  left_[stratum] -= count;
  return local_batch.subspan(count);
}

StratifiedPlan::StratifiedPlan(const PlanOptions& options, std::span<const int32_t> lengths)
    : draw_(options, lengths), batch_(global_batch_of(options)) {}

std::span<const uint32_t> StratifiedPlan::next_step() {
  write_numbers(draw_.next_step(), batch_);
  return batch_;
}

}  // namespace strata::loadbalance
