// Finds how few ranks reach the target in a given time.
#pragma once

#include <optional>
#include <vector>

#include "plan/search.h"

namespace strata::plan {

// A limit on the time to train, and the fewest ranks that keep it.
struct FewestRanks {
  double seconds = 0;
  std::optional<Prediction> expected;  // by the predicted time; nullopt: no number of ranks
  std::optional<Prediction> sure;      // by the whole interval
};

// Tries numbers of ranks, up to Planner::most_ranks(), that fill nodes or divide one, and whose
// replicas take equally many samples.
FewestRanks fewest_ranks(const Planner& planner, const std::vector<double>& batches,
                         const Layout& layout, double seconds);

}  // namespace strata::plan
