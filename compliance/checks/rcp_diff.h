// What changed from one set of reference convergence points to another.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compliance/checks/rcp.h"

namespace strata::compliance {

// One batch size of a benchmark; a side that has no point for it is empty.
struct PointChange {
  double batch_size = 0;
  std::optional<ReferencePoint> before, after;
};

// The batch sizes whose runs differ, smallest first. Either may be null: no points there.
std::vector<PointChange> diff_points(const ReferencePoints* before, const ReferencePoints* after);

}  // namespace strata::compliance
