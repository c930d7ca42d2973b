// The plan of `strata search --space FILE` (docs/search.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "search/space.h"

namespace strata::search {

// The quantity that is minimised among runs that reach the target.
enum class Objective : uint8_t { kSamples, kSeconds };
const char* name_of(Objective objective);

struct SearchPlan {
  std::filesystem::path config;  // the runs' configuration, absolute
  Settings fixed;                // overrides of `config` for all runs
  int ranks = 1;                 // ranks of each run
  uint64_t seed = 1;             // seed of the drawn settings, and of the runs in rungs
  Objective objective = Objective::kSamples;
  int trials = 0;              // drawn trials, besides trial 0
  int eta = 3;                 // one in so many trials advances to the next rung
  std::vector<int64_t> rungs;  // samples that a run may take in each rung, rising
  int64_t evaluate_every = 0;  // in samples, for the last rung and the finals
  int finalists = 0;           // trials of the last rung that are repeated in the finals
  int seeds = 0;               // seeds of each finalist
  int64_t final_samples = 0;   // samples of each final run
  std::vector<Dimension> space;
};

// Throws Error with file, line, key and reason. Also throws if a trial that the plan draws cannot
// run.
SearchPlan load_search_plan(const std::filesystem::path& path);

// Returns the configuration of all runs with a trial's settings. Throws Error if it cannot run.
config::RunConfig configuration_of(const SearchPlan& plan, const Settings& settings = {});

}  // namespace strata::search
