#include "loadbalance/batch_plan.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "loadbalance/random_plan.h"
#include "loadbalance/stratified_plan.h"

namespace strata::loadbalance {
namespace {

void check_options(const PlanOptions& options, std::span<const int32_t> lengths) {
  if (options.ranks < 1) fail("ranks is {}: a plan needs at least 1", options.ranks);
  if (options.batch_per_rank < 1) {
    fail("batch_per_rank is {}: a plan needs at least 1", options.batch_per_rank);
  }
  const size_t global_batch = static_cast<size_t>(options.ranks) * options.batch_per_rank;
  if (lengths.size() < global_batch) {
    fail(
        "{} samples are fewer than a global batch of {} ranks x {}: use fewer ranks or a smaller "
        "batch",
        lengths.size(), options.ranks, options.batch_per_rank);
  }
  if (lengths.size() > std::numeric_limits<uint32_t>::max()) {
    fail("{} samples: a plan numbers at most {}", lengths.size(),
         std::numeric_limits<uint32_t>::max());
  }
  const std::vector<int>& bounds = options.strata_bounds;
  if (bounds.empty()) fail("strata_bounds is empty: at least one length is needed");
  if (std::adjacent_find(bounds.begin(), bounds.end(), std::greater_equal<>()) != bounds.end()) {
    fail("strata_bounds must rise, found {}", fmt::join(bounds, ", "));
  }
}

}  // namespace

std::unique_ptr<BatchPlan> make_batch_plan(const PlanOptions& options,
                                           std::span<const int32_t> lengths) {
  check_options(options, lengths);
  if (options.strategy == "random") return std::make_unique<RandomPlan>(options, lengths.size());
  if (options.strategy == "stratified") return std::make_unique<StratifiedPlan>(options, lengths);
  fail("load-balance strategy \"{}\" is unknown: use random or stratified", options.strategy);
}

}  // namespace strata::loadbalance
