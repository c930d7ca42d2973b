// Finds configurations that can run, but whose result would mean nothing.
#pragma once

#include <string>
#include <vector>

#include "config/run_config.h"

namespace strata::training {

// Returns a sentence for each reason why the run's result would mean nothing: files that are given
// twice, files that are both trained on and evaluated, no evaluation by the last step. Compares
// files by name and identity only; data::find_shared_samples() compares samples.
std::vector<std::string> doubts_about(const config::RunConfig& config, int ranks);

}  // namespace strata::training
