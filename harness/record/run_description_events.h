// The events that say what a BERT run is, besides when things happen.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "config/run_config.h"
#include "harness/record/event_log.h"

namespace strata::harness {

// What the log states about a run and the configuration alone does not know.
struct RunFacts {
  int ranks = 1;
  uint64_t seed = 0;
  std::string platform;  // logged where run.platform is auto: system_name()
};

// submission_*, seed, batch, target, optimizer and schedule events, each once; between init_start
// and init_stop. Covers what every round's BERT rules ask, open and closed, which name the
// optimizer's settings opt_lamb_* whatever the optimizer is (opt_name says).
void log_run_description(EventLog& log, const config::RunConfig& config, const RunFacts& facts);

// One event for every tensor the model starts with, by MLPerf's name, whether it was read or drawn.
// The closed rules of rounds 1.1 to 2.1 ask for exactly BERT-large's. Between init_start and
// init_stop.
void log_weights_initialization(EventLog& log, std::span<const std::string> tensors);

// train_samples (samples trained on until the run ended, what convergence is judged by) and
// eval_samples (the evaluation set's size), each once; before run_stop.
void log_run_samples(EventLog& log, int64_t trained_samples, int64_t eval_samples);

}  // namespace strata::harness
