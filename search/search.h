// The search itself: stage after stage, as many runs at a time as there are slots.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "search/successive_halving.h"

namespace strata::search {

// Makes runs, beside each other.
class TrialRunner {
 public:
  struct Ended {
    TrialRun run;
    RunResult result;
  };

  virtual ~TrialRunner() = default;
  virtual int slots() const = 0;
  // Called while fewer runs than slots are under way.
  virtual void start(const TrialRun& run, const Settings& settings, int64_t samples) = 0;
  // A run that has ended since the last call; nothing where none has.
  virtual std::optional<Ended> poll() = 0;
  // How far a run under way is, in a few words.
  virtual std::string progress_of(const TrialRun& run) const = 0;
};

struct SearchState {
  int stage = 0;
  std::vector<TrialRun> runs;  // of the stage
  size_t ended = 0;            // of them
  std::vector<TrialRun> under_way;
};

struct SearchHooks {
  // After every run that has ended and, about five times a second, while none has; `ended` is null
  // then.
  std::function<void(const SearchState&, const FinishedRun* ended)> show;
  std::function<bool()> is_stopped;
};

// Makes what runs `log` lacks, and again those that failed. Returns whether the search came to its
// end, false where it was stopped: a later call goes on. Throws Error where all runs of a stage
// failed.
bool run_search(const SearchPlan& plan, TrialLog& log, TrialRunner& runner,
                const SearchHooks& hooks);

}  // namespace strata::search
