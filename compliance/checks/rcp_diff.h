// Compares two sets of reference convergence points.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compliance/checks/rcp.h"

namespace strata::compliance {

// One batch size of a benchmark. A side without a point for it is empty.
struct PointChange {
  double batch_size = 0;
  std::optional<ReferencePoint> before, after;
};

// Returns the batch sizes whose runs differ, smallest first. A null argument has no points.
std::vector<PointChange> diff_points(const ReferencePoints* before, const ReferencePoints* after);

}  // namespace strata::compliance
