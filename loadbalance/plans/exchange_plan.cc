#include "loadbalance/plans/exchange_plan.h"

namespace strata::loadbalance {

ExchangePlan::ExchangePlan(const PlanOptions& options, std::span<const int32_t> lengths)
    : draw_(options, lengths),
      sort_(lengths),
      ranks_(options.ranks),
      batch_(global_batch_of(options)) {}

std::span<const uint32_t> ExchangePlan::next_step() {
  deal_serpentine(sort_.longest_first(draw_.next_step()), ranks_, batch_);
  return batch_;
}

}  // namespace strata::loadbalance
