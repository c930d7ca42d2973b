#include "loadbalance/cost_fit.h"

#include <optional>
#include <vector>

#include "base/error.h"
#include "base/numbers/nonnegative_fit.h"
#include "base/text/counts.h"

namespace strata::loadbalance {

CostFit fit_cost(std::span<const BatchTime> times) {
  std::vector<Observation> parts;  // constant, linear and quadratic terms of a batch's time
  for (const BatchTime& batch : times) {
    parts.push_back(
        {{1 / batch.seconds, batch.tokens / batch.seconds, batch.squares / batch.seconds}});
  }
  if (!tell_terms_apart(parts)) {
    fail("the constant, linear and quadratic costs cannot be separated with {}; give more tokens",
         counted(times.size(), "measured batch"));
  }
  const std::vector<double> x = fit_nonnegative(parts).value();
  if (x[1] + x[2] == 0) {
    fail(
        "the times of {} do not increase with their tokens; measure more rounds, or on an idle "
        "machine",
        counted(times.size(), "measured batch"));
  }
  return {x[0], {x[1], x[2]}};
}

}  // namespace strata::loadbalance
