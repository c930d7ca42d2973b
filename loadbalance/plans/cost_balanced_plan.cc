#include "loadbalance/plans/cost_balanced_plan.h"

#include <algorithm>
#include <numeric>

namespace strata::loadbalance {
namespace {

// Draws for the largest number of ranks that divides every group: a whole group or, if the last one
// is smaller, their greatest common divisor.
PlanOptions draw_of_groups(PlanOptions options) {
  const int ranks_a_draw = std::gcd(options.ranks, effective_group_ranks(options));
  options.ranks /= ranks_a_draw;
  options.batch_per_rank *= ranks_a_draw;
  return options;
}

}  // namespace

CostBalancedPlan::CostBalancedPlan(const PlanOptions& options,
                                   std::span<const LengthCount> histogram)
    : draw_(draw_of_groups(options), histogram),
      balancer_(draw_.samples().longest(), options.cost),
      groups_(rank_groups(options.ranks, effective_group_ranks(options))),
      batch_per_rank_(static_cast<size_t>(options.batch_per_rank)),
      micro_batches_(options.micro_batches),
      batch_(global_batch_of(options)) {}

std::span<const uint32_t> CostBalancedPlan::next_step() {
  const std::span<const Sample> drawn = draw_.next_step();
  for (const RankGroup& group : groups_) {
    const size_t begin = group.first * batch_per_rank_, size = group.ranks * batch_per_rank_;
    balancer_.assign(drawn.subspan(begin, size), group.ranks,
                     std::span(batch_).subspan(begin, size));
  }
  if (micro_batches_ > 1) {
    for (size_t begin = 0; begin < batch_.size(); begin += batch_per_rank_) {
      cut_into_micro_batches(std::span(batch_).subspan(begin, batch_per_rank_));
    }
  }
  return batch_;
}

void CostBalancedPlan::cut_into_micro_batches(std::span<uint32_t> rank_batch) {
  rank_samples_.clear();
  for (const uint32_t number : rank_batch) {
    rank_samples_.push_back({number, draw_.samples().length_of(number)});
  }
  bins_.resize(rank_batch.size());
  balancer_.assign(rank_samples_, micro_batches_, bins_);
  order_.resize(static_cast<size_t>(micro_batches_));
  std::iota(order_.begin(), order_.end(), 0u);
  std::ranges::stable_sort(order_, {}, [this](uint32_t bin) { return balancer_.loads()[bin]; });
  const size_t size = rank_batch.size() / order_.size();
  auto out = rank_batch.begin();
  for (const uint32_t bin : order_) {
    out = std::copy_n(bins_.begin() + static_cast<int64_t>(bin * size), size, out);
  }
}

}  // namespace strata::loadbalance
