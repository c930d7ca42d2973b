// The steps of a run, as its step trace (result_N.steps.jsonl) tells them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace strata::report {

// Times in seconds, of the rank that logs.
struct TracedStep {
  int64_t step = 0;
  double seconds = 0;
  double data = 0;           // waiting for the loader
  double communication = 0;  // of gradients, hidden or not
  double exposed = 0;        // the part of it that the step waits for
  double update = 0;         // of weights
  double tokens = 0;
  std::optional<double> imbalance;  // the costliest rank's work over the mean
  std::optional<double> loss;       // masked language model
};

// Lines that are no step, such as one that is being written, are counted, not read.
struct StepTrace {
  std::vector<TracedStep> steps;
  size_t other_lines = 0;
};

// The trace that lies beside a log, such as result_0.steps.jsonl beside result_0.txt; without steps
// where there is none. Throws Error where it cannot be read or has more than 1 GiB.
StepTrace read_step_trace_of(const std::filesystem::path& log);
StepTrace parse_step_trace(const std::string& text);

// What a step's time went into: medians over the steps after the first, which is slower.
struct StepPhases {
  double step = 0, data = 0, exposed = 0, update = 0;  // seconds
  double compute = 0;                                  // what is left of the step
  double hidden_share = 0;                             // of communication; 1 where there is none
  double tokens_per_second = 0;
  std::optional<double> imbalance;
};
// Empty where there are no steps.
std::optional<StepPhases> phases_of(const std::vector<TracedStep>& steps);

}  // namespace strata::report
