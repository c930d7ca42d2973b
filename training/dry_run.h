// Everything that can be checked of a run without running it.
#pragma once

#include <string>
#include <vector>

#include "config/run_config.h"
#include "training/ranks/ranks.h"

namespace strata::training {

struct DryRun {
  std::vector<std::string> problems;  // what would end the run, in words for its user
  std::vector<std::string> facts;     // what the run would be
};

// Makes device and model, reads weights, opens the data and plans a step, each whether or not
// another fails. Of this rank; ranks need not call together.
DryRun dry_run(const config::RunConfig& config, const Ranks& ranks);

}  // namespace strata::training
