// Checks everything about a run that can be checked without running it.
#pragma once

#include <string>
#include <vector>

#include "config/run_config.h"
#include "training/ranks/ranks.h"

namespace strata::training {

struct DryRun {
  std::vector<std::string> problems;  // errors that would end the run, and doubts about it
  std::vector<std::string> facts;     // properties of the run
};

// Makes device and model, reads weights, opens the data and plans a step. A failed check prevents
// only those that depend on it. Covers this rank; ranks need not call together.
DryRun dry_run(const config::RunConfig& config, const Ranks& ranks);

}  // namespace strata::training
