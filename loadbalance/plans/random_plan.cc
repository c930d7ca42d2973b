#include "loadbalance/plans/random_plan.h"

namespace strata::loadbalance {

RandomDraw::RandomDraw(const PlanOptions& options, std::span<const int32_t> lengths)
    : deck_(samples_of(lengths), options.seed), drawn_(global_batch_of(options)) {}

std::span<const Sample> RandomDraw::next_step() {
  deck_.deal(drawn_);
  return drawn_;
}

RandomPlan::RandomPlan(const PlanOptions& options, std::span<const int32_t> lengths)
    : draw_(options, lengths), batch_(global_batch_of(options)) {}

std::span<const uint32_t> RandomPlan::next_step() {
  write_numbers(draw_.next_step(), batch_);
  return batch_;
}

}  // namespace strata::loadbalance
