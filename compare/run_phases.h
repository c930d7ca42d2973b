// The phases of a run according to its log.
#pragma once

#include <optional>

#include "mllog/log_reader.h"

namespace strata::compare {

// Durations in seconds.
struct RunPhases {
  double total = 0;                  // run_start to run_stop
  double start = 0;                  // run_start to the first later block or epoch; else 0
  std::optional<double> evaluation;  // between eval_start and eval_stop; few logs have them

  // Returns the time of steps, and of evaluations if they are not logged.
  double training() const { return total - start - evaluation.value_or(0); }
};

// Returns the phases of the last run in the log, or nullopt if it lacks run_start or run_stop, or
// its times are not finite. Throws ReadError if a large log cannot be read again.
std::optional<RunPhases> read_phases(const mllog::LogReader& log);

}  // namespace strata::compare
