// What one log of a BERT run says of its steps and evaluations.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compliance/log/event_log.h"

namespace strata::plan {

// An evaluation's end.
struct EvaluationTime {
  double seconds = 0;  // since run_start
  double samples = 0;  // trained on by then, a multiple of the batch
};

struct PublishedRun {
  std::filesystem::path log;
  double batch = 0;                         // global batch size
  int64_t micro_batches = 1;                // gradient_accumulation_steps
  std::vector<EvaluationTime> evaluations;  // in order of time
  double seconds = 0;                       // run_start to run_stop
  // Seconds between one block of steps and the next, the median; where blocks end at evaluations.
  std::optional<double> evaluation_seconds;
  std::string division;
  std::string problem;  // why it cannot be used; empty where it can

  double samples() const { return evaluations.back().samples; }
};

// Where evaluations do not say after how many samples they came, these are taken from MLPerf's
// interval if train_samples agrees with it, else spread evenly up to train_samples. Whatever is
// wrong with the log is its problem, with the log's name and what to do. Runs that did not converge
// are unusable.
PublishedRun read_published_run(const std::filesystem::path& log);
PublishedRun read_published_run(const compliance::EventLog& log);

}  // namespace strata::plan
