#include "loadbalance/plans/exchange_plan.h"

namespace strata::loadbalance {

ExchangePlan::ExchangePlan(const PlanOptions& options, std::span<const LengthCount> histogram)
    : draw_(options, histogram),
      sort_(draw_.samples().longest()),
      ranks_(options.ranks),
      batch_(global_batch_of(options)) {}

std::span<const uint32_t> ExchangePlan::next_step() {
  deal_serpentine(sort_.longest_first(draw_.next_step()), ranks_, batch_);
  return batch_;
}

}  // namespace strata::loadbalance
