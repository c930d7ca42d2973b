// A trial's runs, and what comes of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "search/search_plan.h"
#include "search/space.h"

namespace strata::search {

// The trial whose settings are none: the configuration as it is.
inline constexpr int kBaseTrial = 0;

// The settings of a trial of the plan.
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
  kReached,  // the target
  kMissed,   // the target, with the samples that the stage allows
  kFailed,   // the run could not be made; `message` says why
};
const char* name_of(Ending ending);
std::string name_of_stage(int stage);  // "rung 0", "finals"

struct RunResult {
  Ending ending = Ending::kFailed;
  double accuracy = 0;  // masked-LM, last evaluation
  int64_t samples = 0;  // trained on
  double seconds = 0;   // run_start to run_stop
  std::string log, message;
};

struct FinishedRun {
  TrialRun run;
  Settings settings;
  RunResult result;
};

// The objective's value of a run: samples, or seconds.
double cost_of(const RunResult& result, Objective objective);
// Whether `a` is better: it reached the target with less of the objective, or alone; or, where
// neither did, has the higher accuracy. Runs that failed are last.
bool is_better(const RunResult& a, const RunResult& b, Objective objective);

// One line of JSON, and back. Throws Error, with `source`, where a line is none.
std::string to_json_line(const FinishedRun& run);
FinishedRun from_json_line(const std::string& line, const std::string& source);

}  // namespace strata::search
