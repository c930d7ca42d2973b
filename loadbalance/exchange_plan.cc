#include "loadbalance/exchange_plan.h"

namespace strata::loadbalance {

ExchangePlan::ExchangePlan(const PlanOptions& options, std::span<const int32_t> lengths)
    : drawn_(options, lengths.size()),
      lengths_(compact_lengths(lengths)),
      sort_(lengths_),
      ranks_(options.ranks),
      batch_(static_cast<size_t>(options.ranks) * options.batch_per_rank) {}

std::span<const uint32_t> ExchangePlan::next_step() {
  deal_serpentine(sort_.longest_first(drawn_.next_step()), ranks_, batch_);
  return batch_;
}

}  // namespace strata::loadbalance
