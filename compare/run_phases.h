// What the time of a run went into, as its log tells.
#pragma once

#include <optional>

#include "compliance/log/event_log.h"

namespace strata::compare {

// Seconds.
struct RunPhases {
  double total = 0;                  // run_start to run_stop
  double start = 0;                  // run_start to the first block or epoch after it; else 0
  std::optional<double> evaluation;  // between eval_start and eval_stop; few logs have them

  // What is left: steps, and evaluations where they are not logged.
  double training() const { return total - start - evaluation.value_or(0); }
};

// Of the last run in the log; empty where it lacks run_start or run_stop, or its times are not
// finite. Throws ReadError where a large log cannot be read again.
std::optional<RunPhases> read_phases(const compliance::EventLog& log);

}  // namespace strata::compare
