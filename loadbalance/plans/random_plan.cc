#include "loadbalance/plans/random_plan.h"

#include <algorithm>

namespace strata::loadbalance {

RandomDraw::RandomDraw(const PlanOptions& options, std::span<const LengthCount> histogram)
    : samples_(histogram),
      deck_(0, samples_.size(), options.seed),
      numbers_(global_batch_of(options)),
      drawn_(numbers_.size()) {}

std::span<const Sample> RandomDraw::next_step() {
  deck_.deal(numbers_);
  std::ranges::transform(numbers_, drawn_.begin(), [this](uint32_t number) {
    return Sample{number, samples_.length_of(number)};
  });
  return drawn_;
}

RandomPlan::RandomPlan(const PlanOptions& options, std::span<const LengthCount> histogram)
    : draw_(options, histogram), batch_(global_batch_of(options)) {}

std::span<const uint32_t> RandomPlan::next_step() {
  write_numbers(draw_.next_step(), batch_);
  return batch_;
}

}  // namespace strata::loadbalance
