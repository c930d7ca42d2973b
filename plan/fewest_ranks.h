// Finds how few ranks reach the target in a given time.
#pragma once

#include <optional>
#include <vector>

#include "plan/search.h"

namespace strata::plan {

// A limit on the time to train, and the fewest ranks that keep it.
struct FewestRanks {
  double seconds = 0;
  std::optional<Prediction> expected;  // the predicted time keeps it; nullopt: no number does
  std::optional<Prediction> sure;      // the whole interval keeps it
};

// Tries whole nodes and even parts of one, whose replicas take equally many samples, up to
// Planner::most_ranks().
FewestRanks fewest_ranks(const Planner& planner, const std::vector<double>& batches,
                         const Layout& layout, double seconds);

}  // namespace strata::plan
