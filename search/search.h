// Runs the search stage by stage, with as many runs at a time as there are slots.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "search/successive_halving.h"

namespace strata::search {

// Runs trials in parallel.
class TrialRunner {
 public:
  struct Ended {
    TrialRun run;
    RunResult result;
  };

  virtual ~TrialRunner() = default;
  virtual int slots() const = 0;
  // Called while fewer runs than slots are in progress.
  virtual void start(const TrialRun& run, const Settings& settings, int64_t samples) = 0;
  // Returns a run that has ended since the last call, or nullopt.
  virtual std::optional<Ended> poll() = 0;
  // Returns the progress of a run in a few words.
  virtual std::string progress_of(const TrialRun& run) const = 0;
};

struct SearchState {
  int stage = 0;
  std::vector<TrialRun> runs;  // runs of the stage
  size_t ended = 0;            // ended runs of the stage
  std::vector<TrialRun> under_way;
};

struct SearchHooks {
  // Called after every ended run. Also called about five times a second while no run ends, with
  // null for `ended`.
  std::function<void(const SearchState&, const FinishedRun* ended)> show;
  std::function<bool()> is_stopped;
};

// Makes the runs that `log` lacks, and repeats failed ones. Returns true at the end of the search,
// and false if it was stopped; a later call resumes it. Throws Error if all runs of a stage failed.
bool run_search(const SearchPlan& plan, TrialLog& log, TrialRunner& runner,
                const SearchHooks& hooks);

}  // namespace strata::search
