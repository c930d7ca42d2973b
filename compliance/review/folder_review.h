// Reviews a result folder: every run alone, then all runs together.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compliance/checks/run_settings.h"
#include "compliance/review/described_system.h"
#include "compliance/review/run_windows.h"

namespace strata::compliance {

// A folder of results and its round.
struct ReviewedFolder {
  std::string usage, ruleset, benchmark;
  bool weak_scaling = false;
};

struct ReviewedRun {
  RunRecord record;
  std::vector<ReviewFinding> findings;
};

// Returns the findings of review_log, then those of review_system. Under weak scaling the counts of
// `system` do not matter.
ReviewedRun review_run(const mllog::LogReader& log, const ReviewedFolder& folder,
                       const DescribedSystem& system);

// Merges `of_logs`, the findings about each run of the folder, and appends those about all `runs`.
// Settings are compared if they are given. `others`: see review_runs.
RunsReview review_folder(const ReviewedFolder& folder,
                         std::vector<std::vector<ReviewFinding>> of_logs,
                         const std::vector<RunRecord>& runs,
                         std::span<const RunSettings> settings = {},
                         const std::vector<RunRecord>& others = {});

}  // namespace strata::compliance
