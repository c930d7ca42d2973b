#include "loadbalance/random_plan.h"

#include <numeric>

namespace strata::loadbalance {
namespace {

std::vector<uint32_t> all_of(size_t samples) {
  std::vector<uint32_t> result(samples);
  std::iota(result.begin(), result.end(), 0u);
  return result;
}

}  // namespace

RandomPlan::RandomPlan(const PlanOptions& options, size_t samples)
    : deck_(all_of(samples), options.seed),
      batch_(static_cast<size_t>(options.ranks) * options.batch_per_rank) {}

std::span<const uint32_t> RandomPlan::next_step() {
  deck_.deal(batch_);
  return batch_;
}

}  // namespace strata::loadbalance
