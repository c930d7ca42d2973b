// What `strata search --space FILE` is to do, as its file says (docs/search.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "search/space.h"

namespace strata::search {

// What is minimised among runs that reach the target.
enum class Objective : uint8_t { kSamples, kSeconds };
const char* name_of(Objective objective);

struct SearchPlan {
  std::filesystem::path config;  // of the runs, absolute
  Settings fixed;                // overrides of `config` for all runs
  int ranks = 1;                 // of a run
  uint64_t seed = 1;             // of what is drawn; of the runs of rungs, too
  Objective objective = Objective::kSamples;
  int trials = 0;              // that are drawn, besides trial 0
  int eta = 3;                 // one in so many goes on to the next rung
  std::vector<int64_t> rungs;  // samples that a run may take there, rising
  int64_t evaluate_every = 0;  // samples, on the last rung and in the finals
  int finalists = 0;           // trials of the last rung that are run again,
  int seeds = 0;               // with so many seeds each
  int64_t final_samples = 0;   // and so many samples
  std::vector<Dimension> space;
};

// Throws Error that names file, line, key and reason; also where a trial that the plan draws is no
// configuration that can run.
SearchPlan load_search_plan(const std::filesystem::path& path);

// The configuration of all runs, with a trial's settings. Throws Error where it is none that can
// run.
config::RunConfig configuration_of(const SearchPlan& plan, const Settings& settings = {});

}  // namespace strata::search
