#include "loadbalance/plans/presorted_plan.h"

namespace strata::loadbalance {

PresortedPlan::PresortedPlan(const PlanOptions& options, std::span<const LengthCount> histogram)
    : draw_(options, histogram),
      sort_(draw_.samples().longest()),
      groups_(rank_groups(options.ranks, effective_group_ranks(options))),
      batch_per_rank_(static_cast<size_t>(options.batch_per_rank)),
      batch_(global_batch_of(options)) {}

std::span<const uint32_t> PresortedPlan::next_step() {
  const std::span<const Sample> drawn = draw_.next_step();
  for (const RankGroup& group : groups_) {
    const size_t begin = group.first * batch_per_rank_, size = group.ranks * batch_per_rank_;
    deal_serpentine(sort_.longest_first(drawn.subspan(begin, size)), group.ranks,
                    std::span(batch_).subspan(begin, size));
  }
  return batch_;
}

}  // namespace strata::loadbalance
