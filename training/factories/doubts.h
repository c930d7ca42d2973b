// Reasons to doubt a run that could be made.
#pragma once

#include <string>
#include <vector>

#include "config/run_config.h"

namespace strata::training {

// Why the result of a run with these settings would mean nothing, a sentence each: files that are
// given twice, files that are both trained on and evaluated, no evaluation before the last step.
// Compares files by name and identity only; data::find_shared_samples() compares samples.
std::vector<std::string> doubts_about(const config::RunConfig& config, int ranks);

}  // namespace strata::training
