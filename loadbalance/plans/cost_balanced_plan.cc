#include "loadbalance/plans/cost_balanced_plan.h"

#include <numeric>

namespace strata::loadbalance {
namespace {

// Draws for as many ranks at once as all groups are made of: a whole group, or where the last one
// is smaller, their greatest common divisor.
PlanOptions draw_of_groups(PlanOptions options) {
  const int ranks_a_draw = std::gcd(options.ranks, effective_group_ranks(options));
  options.ranks /= ranks_a_draw;
  options.batch_per_rank *= ranks_a_draw;
  return options;
}

}  // namespace

CostBalancedPlan::CostBalancedPlan(const PlanOptions& options, std::span<const int32_t> lengths)
    : draw_(draw_of_groups(options), lengths),
      balancer_(lengths, options.cost),
      groups_(rank_groups(options.ranks, effective_group_ranks(options))),
      batch_per_rank_(static_cast<size_t>(options.batch_per_rank)),
      batch_(global_batch_of(options)) {}

std::span<const uint32_t> CostBalancedPlan::next_step() {
  const std::span<const Sample> drawn = draw_.next_step();
  for (const RankGroup& group : groups_) {
    const size_t begin = group.first * batch_per_rank_, size = group.ranks * batch_per_rank_;
    balancer_.assign(drawn.subspan(begin, size), group.ranks,
                     std::span(batch_).subspan(begin, size));
  }
  return batch_;
}

}  // namespace strata::loadbalance
