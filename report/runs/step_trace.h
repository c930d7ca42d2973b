// Reads the steps of a run from its step trace (result_N.steps.jsonl).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace strata::report {

// Times are in seconds, on the rank that logs.
struct TracedStep {
  int64_t step = 0;
  double seconds = 0;
  double data = 0;  // wait for the loader
  // Empty if not measured: time in collectives, hidden or not; the part of it that the step waits
  // for; time in updates of weights.
  std::optional<double> communication, exposed, update;
  double tokens = 0;
  std::optional<double> imbalance;  // costliest rank's work over the mean
  std::optional<double> loss;       // masked language model
};

// Only counts lines that are no step, such as an unfinished one.
struct StepTrace {
  std::vector<TracedStep> steps;
  size_t other_lines = 0;
};

// Reads the trace beside a log, such as result_0.steps.jsonl beside result_0.txt. Returns no steps
// without a trace. Throws Error if it cannot be read or exceeds 1 GiB.
StepTrace read_step_trace_of(const std::filesystem::path& log);
StepTrace parse_step_trace(const std::string& text);

// The phases of a step: medians over the steps after the first, which is slower. Times are in
// seconds.
struct StepPhases {
  double step = 0, data = 0;
  std::optional<double> exposed, update;  // empty if not measured
  double compute = 0;                     // the rest of the step
  std::optional<double> hidden_share;     // of measured communication
  double tokens_per_second = 0;
  std::optional<double> imbalance;
};
// Empty if there are no steps.
std::optional<StepPhases> phases_of(const std::vector<TracedStep>& steps);

}  // namespace strata::report
