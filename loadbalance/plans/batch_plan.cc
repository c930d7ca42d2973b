#include "loadbalance/plans/batch_plan.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/counts.h"
#include "loadbalance/plans/cost_balanced_plan.h"
#include "loadbalance/plans/exchange_plan.h"
#include "loadbalance/plans/presorted_plan.h"
#include "loadbalance/plans/random_plan.h"
#include "loadbalance/plans/stratified_plan.h"
#include "loadbalance/sample.h"

namespace strata::loadbalance {
namespace {

void check_options(const PlanOptions& options, std::span<const LengthCount> histogram) {
  if (options.ranks < 1) fail("ranks is {}: a plan needs at least 1", options.ranks);
  if (options.batch_per_rank < 1) {
    fail("batch_per_rank is {}: a plan needs at least 1", options.batch_per_rank);
  }
  if (options.micro_batches < 1 || options.batch_per_rank % options.micro_batches != 0) {
    fail("{} of a rank cannot be divided evenly among {}",
         counted(options.batch_per_rank, "sample"), counted(options.micro_batches, "micro-batch"));
  }
  const uint32_t samples = SamplesByLength(histogram).size();
  if (samples < global_batch_of(options)) {
    fail("{} cannot fill a global batch of {} x {}; use fewer ranks or a smaller batch",
         counted(samples, "sample"), counted(options.ranks, "rank"), options.batch_per_rank);
  }
  if (options.group_ranks < 0) {
    fail("group_ranks is {}: it must be at least 1, or 0 for the default", options.group_ranks);
  }
  if (!(options.cost.linear >= 0 && options.cost.quadratic >= 0 && options.cost.cost(1) > 0)) {
    fail("cost model {} * s + {} * s^2: it must increase with the length s", options.cost.linear,
         options.cost.quadratic);
  }
  const std::vector<int>& bounds = options.strata_bounds;
  if (bounds.empty()) fail("strata_bounds is empty: at least one length is needed");
  if (std::adjacent_find(bounds.begin(), bounds.end(), std::greater_equal<>()) != bounds.end()) {
    fail("strata_bounds must increase, but they are {}", fmt::join(bounds, ", "));
  }
}

}  // namespace

int effective_group_ranks(const PlanOptions& options) {
  constexpr int kRanksOfANode = 8;
  if (options.strategy == "random" || options.strategy == "stratified") return 1;
  if (options.strategy == "exchange") return options.ranks;
  const int by_default = options.strategy == "planned" ? options.ranks : kRanksOfANode;
  return std::min(options.group_ranks == 0 ? by_default : options.group_ranks, options.ranks);
}

std::vector<std::string> strategies() {
  return {"random", "exchange", "stratified", "stratified+presort", "planned"};
}

std::unique_ptr<BatchPlan> make_batch_plan(const PlanOptions& options,
                                           std::span<const LengthCount> histogram) {
  check_options(options, histogram);
  if (options.strategy == "random") return std::make_unique<RandomPlan>(options, histogram);
  if (options.strategy == "exchange") return std::make_unique<ExchangePlan>(options, histogram);
  if (options.strategy == "stratified") return std::make_unique<StratifiedPlan>(options, histogram);
  if (options.strategy == "stratified+presort") {
    return std::make_unique<PresortedPlan>(options, histogram);
  }
  if (options.strategy == "planned") return std::make_unique<CostBalancedPlan>(options, histogram);
  fail("load-balance strategy \"{}\" is unknown: use one of {}", options.strategy,
       fmt::join(strategies(), ", "));
}

}  // namespace strata::loadbalance
