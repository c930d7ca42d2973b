#include "compliance/checks/rcp_diff.h"

#include <map>

namespace strata::compliance {

std::vector<PointChange> diff_points(const ReferencePoints* before, const ReferencePoints* after) {
  std::map<double, PointChange> changes;
  const auto add = [&](const ReferencePoints* points,
                       std::optional<ReferencePoint> PointChange::*side) {
    if (points == nullptr) return;
    for (const ReferencePoint& point : points->full()) {
      PointChange& change = changes[point.batch_size];
      change.batch_size = point.batch_size;
      change.*side = point;
    }
  };
  add(before, &PointChange::before);
  add(after, &PointChange::after);
  std::vector<PointChange> changed;
  for (const auto& [batch_size, change] : changes) {
    if (change.before && change.after && change.before->epochs == change.after->epochs) continue;
    changed.push_back(change);
  }
  return changed;
}

}  // namespace strata::compliance
