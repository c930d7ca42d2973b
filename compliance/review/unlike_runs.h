// Finds runs of one result folder with different settings, and runs to another target than the
// benchmark's.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "compliance/checks/review_finding.h"
#include "compliance/checks/run_settings.h"

namespace strata::compliance {

// Ids: review/runs/target, settings and data. `published` is the benchmark's target in the round.
std::vector<ReviewFinding> review_settings(std::span<const RunSettings> runs,
                                           std::optional<double> published);

}  // namespace strata::compliance
