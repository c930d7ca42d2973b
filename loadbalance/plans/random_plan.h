// The strategy "random": every rank draws from its own shard.
#pragma once

#include <vector>

#include "loadbalance/plans/batch_plan.h"
#include "loadbalance/plans/epoch_sampler.h"
#include "loadbalance/sample.h"

namespace strata::loadbalance {

// A shard is a random part of the samples, dealt anew in every epoch and drawn from in random
// order. Dealing a shuffled epoch to the ranks as they draw has the same distribution, for any
// number of samples.
class RandomDraw {
 public:
  RandomDraw(const PlanOptions& options, std::span<const LengthCount> histogram);
  // Returns the next global batch, rank by rank. Valid until the next call.
  std::span<const Sample> next_step();
  const SamplesByLength& samples() const { return samples_; }

 private:
  SamplesByLength samples_;
  EpochSampler deck_;
  std::vector<uint32_t> numbers_;  // scratch
  std::vector<Sample> drawn_;
};

class RandomPlan final : public BatchPlan {
 public:
  RandomPlan(const PlanOptions& options, std::span<const LengthCount> histogram);
  std::span<const uint32_t> next_step() override;

 private:
  RandomDraw draw_;
  std::vector<uint32_t> batch_;
};

}  // namespace strata::loadbalance
