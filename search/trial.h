// A trial's runs and their results.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "search/search_plan.h"
#include "search/space.h"

namespace strata::search {

// The trial without settings: the unchanged configuration.
inline constexpr int kBaseTrial = 0;

// Returns the settings of a trial of the plan.
Settings settings_of(const SearchPlan& plan, int trial);

// The stage after the last rung.
inline constexpr int kFinals = 1 << 20;

// One training run.
struct TrialRun {
  int trial = 0;
  int stage = 0;  // a rung, from 0, or kFinals
  uint64_t seed = 0;

  auto operator<=>(const TrialRun&) const = default;
};

enum class Ending : uint8_t {
  kReached,  // reached the target
  kMissed,   // missed the target with the samples that the stage allows
  kFailed,   // the run failed; `message` says why
};
const char* name_of(Ending ending);
std::string name_of_stage(int stage);  // "rung 0", "finals"

struct RunResult {
  Ending ending = Ending::kFailed;
  double accuracy = 0;  // masked-LM accuracy of the last evaluation
  int64_t samples = 0;  // trained samples
  double seconds = 0;   // run_start to run_stop
  std::string log, message;
};

struct FinishedRun {
  TrialRun run;
  Settings settings;
  RunResult result;
};

// Returns a run's value of the objective: samples or seconds.
double cost_of(const RunResult& result, Objective objective);
// Returns whether `a` is better. A run that reached the target is better than one that did not; of
// two that did, the one with the lower objective is better; of two that did not, the one with the
// higher accuracy. Failed runs are last.
bool is_better(const RunResult& a, const RunResult& b, Objective objective);

// Convert to and from one line of JSON. Throws Error, with `source`, for a line that is no run.
std::string to_json_line(const FinishedRun& run);
FinishedRun from_json_line(const std::string& line, const std::string& source);

}  // namespace strata::search
