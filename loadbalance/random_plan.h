// The strategy "random": every rank draws from its own shard.
#pragma once

#include <vector>

#include "loadbalance/batch_plan.h"
#include "loadbalance/shuffled_deck.h"

namespace strata::loadbalance {

// A shard is a random share of the samples, dealt anew every epoch, and is drawn from in random
// order. Dealing a shuffled epoch to the ranks as they draw gives the same distribution, for any
// number of samples.
class RandomPlan final : public BatchPlan {
 public:
  RandomPlan(const PlanOptions& options, size_t samples);
  std::span<const uint32_t> next_step() override;

 private:
  ShuffledDeck deck_;
  std::vector<uint32_t> batch_;
};

}  // namespace strata::loadbalance
