// Reads the steps and evaluations of a BERT run from its log.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "mllog/log_reader.h"

namespace strata::plan {

// The end of an evaluation.
struct EvaluationTime {
  double seconds = 0;  // time since run_start
  double samples = 0;  // samples trained by then, a multiple of the batch
};

struct PublishedRun {
  std::filesystem::path log;
  double batch = 0;                         // global batch size
  int64_t micro_batches = 1;                // gradient_accumulation_steps
  std::vector<EvaluationTime> evaluations;  // in order of time
  double seconds = 0;                       // time from run_start to run_stop
  // Median seconds between two blocks of steps; absent unless blocks end at evaluations.
  std::optional<double> evaluation_seconds;
  std::string division;
  std::string problem;  // why the run cannot be used; empty if it can

  double samples() const { return evaluations.back().samples; }
};

// If evaluations do not log their samples, uses MLPerf's interval if train_samples agrees with it,
// else spreads them evenly up to train_samples. Never throws for a bad log: `problem` then names
// the log and what to do. Runs that did not converge are unusable.
PublishedRun read_published_run(const std::filesystem::path& log);
PublishedRun read_published_run(const mllog::LogReader& log);

}  // namespace strata::plan
