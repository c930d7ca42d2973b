// Checks the power logs of a result folder: power/result_N/{node_I.txt, sw_I.txt}.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "compliance/package/section.h"

namespace strata::compliance {

struct PowerVerdict {
  Section section;
  std::set<std::string> failed_runs;  // such as "result_3"
};

// Requires a folder for each run of `logs`, files numbered from 0 without gaps, and as many files
// in every run.
PowerVerdict check_power(const std::filesystem::path& power_folder,
                         const std::vector<std::filesystem::path>& logs);

}  // namespace strata::compliance
