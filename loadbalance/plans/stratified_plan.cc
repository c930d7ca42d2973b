#include "loadbalance/plans/stratified_plan.h"

#include <algorithm>

#include "base/error.h"
#include "base/text/counts.h"

namespace strata::loadbalance {
namespace {

std::vector<EpochSampler> cut_by_length(const PlanOptions& options,
                                        const SamplesByLength& samples) {
  const std::vector<int>& bounds = options.strata_bounds;
  if (static_cast<int64_t>(samples.longest()) > bounds.back()) {
    fail("a sample has {}, more than the last of strata_bounds, {}; raise it",
         counted(samples.longest(), "token"), bounds.back());
  }
  std::vector<EpochSampler> strata;
  uint32_t first = 0;
  for (const int bound : bounds) {
    const uint32_t end = bound < 0 ? 0 : samples.up_to(static_cast<uint32_t>(bound));
    const uint64_t stratum = strata.size();
    if (end > first) strata.emplace_back(first, end - first, splitmix64(options.seed + stratum));
    first = end;
  }
  return strata;
}

std::vector<uint32_t> sizes_of(std::span<const EpochSampler> strata) {
  std::vector<uint32_t> sizes;
  for (const EpochSampler& stratum : strata) {
    sizes.push_back(stratum.size());
  }
  return sizes;
}

}  // namespace

StratifiedDraw::StratifiedDraw(const PlanOptions& options, std::span<const LengthCount> histogram)
    : samples_(histogram),
      strata_(cut_by_length(options, samples_)),
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

// Counts differ by less than one from their exact share after every local batch, and shares are
// integers at the end of an epoch. So if an epoch ends inside a local batch, the counts cover the
// remainder of every stratum. Those samples come first, then the next epoch's.
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

// Returns the unfilled part of the local batch.
std::span<Sample> StratifiedDraw::deal(size_t stratum, uint32_t count,
                                       std::span<Sample> local_batch) {
  numbers_.resize(count);
  strata_[stratum].deal(numbers_);
  for (uint32_t i = 0; i < count; ++i) {
    local_batch[i] = {numbers_[i], samples_.length_of(numbers_[i])};
  }
  left_[stratum] -= count;
  return local_batch.subspan(count);
}

StratifiedPlan::StratifiedPlan(const PlanOptions& options, std::span<const LengthCount> histogram)
    : draw_(options, histogram), batch_(global_batch_of(options)) {}

std::span<const uint32_t> StratifiedPlan::next_step() {
  write_numbers(draw_.next_step(), batch_);
  return batch_;
}

}  // namespace strata::loadbalance
