// The strategy "stratified": every local batch holds each length stratum's share.
#pragma once

#include <vector>

#include "loadbalance/plans/batch_plan.h"
#include "loadbalance/plans/epoch_sampler.h"
#include "loadbalance/proportional_counts.h"
#include "loadbalance/sample.h"

namespace strata::loadbalance {

// Samples are cut by length into strata; each local batch takes from every stratum, at random and
// without replacement, floor or ceil of its proportional count. Inside a local batch samples are
// grouped by stratum, shortest first (twice where an epoch ends inside it).
class StratifiedDraw {
 public:
  StratifiedDraw(const PlanOptions& options, std::span<const LengthCount> histogram);
  // The next global batch, rank by rank. Valid until the next call.
  std::span<const Sample> next_step();
  const SamplesByLength& samples() const { return samples_; }

 private:
  void deal_local_batch(std::span<Sample> local_batch);
  std::span<Sample> deal(size_t stratum, uint32_t count, std::span<Sample> local_batch);

  SamplesByLength samples_;
  std::vector<EpochSampler> strata_;
  std::vector<uint32_t> sizes_;       // samples of every stratum
  std::vector<uint32_t> left_;        // of these, not yet drawn in this epoch
  std::vector<uint32_t> numbers_;     // scratch
  std::vector<uint32_t> this_epoch_;  // scratch: the part of a local batch before an epoch's end
  ProportionalCounts counts_;
  std::vector<Sample> drawn_;
  size_t batch_per_rank_;
};

class StratifiedPlan final : public BatchPlan {
 public:
  StratifiedPlan(const PlanOptions& options, std::span<const LengthCount> histogram);
  std::span<const uint32_t> next_step() override;

 private:
  StratifiedDraw draw_;
  std::vector<uint32_t> batch_;
};

}  // namespace strata::loadbalance
