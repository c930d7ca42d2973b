// The strategy "stratified": every local batch holds each length stratum's share.
#pragma once

#include <vector>

#include "loadbalance/plans/batch_plan.h"
#include "loadbalance/plans/epoch_sampler.h"
#include "loadbalance/proportional_counts.h"
#include "loadbalance/sample.h"

namespace strata::loadbalance {

// Divides samples by length into strata. Each local batch takes the floor or ceil of its
// proportional count from every stratum, at random and without replacement. Samples of a local
// batch are grouped by stratum, shortest first; if an epoch ends inside it, each epoch's part is
// grouped.
class StratifiedDraw {
 public:
  StratifiedDraw(const PlanOptions& options, std::span<const LengthCount> histogram);
  // Returns the next global batch, rank by rank. Valid until the next call.
  std::span<const Sample> next_step();
  const SamplesByLength& samples() const { return samples_; }

 private:
  void deal_local_batch(std::span<Sample> local_batch);
  std::span<Sample> deal(size_t stratum, uint32_t count, std::span<Sample> local_batch);

  SamplesByLength samples_;
  std::vector<EpochSampler> strata_;
  std::vector<uint32_t> sizes_;       // number of samples per stratum
  std::vector<uint32_t> left_;        // number of samples per stratum not yet drawn in this epoch
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
