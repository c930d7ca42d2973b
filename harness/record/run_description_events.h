// The events that describe a BERT run.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "config/run_config.h"
#include "harness/record/run_log.h"

namespace strata::harness {

// Facts for the log that are not in the configuration.
struct RunFacts {
  int ranks = 1;
  uint64_t seed = 0;
  std::string platform;  // logged if run.platform is auto: system_name()
};

// Logs submission_*, seed, batch, target, optimizer and lr_schedule events, each once; call between
// init_start and init_stop. Covers the BERT rules of every round, open and closed. These rules use
// the keys opt_lamb_* for any optimizer; opt_name says which one it is.
void log_run_description(mllog::LogWriter& log, const config::RunConfig& config,
                         const RunFacts& facts);

// Logs one event for every tensor of the initial model, by MLPerf's name, whether it was read or
// drawn. The closed rules of rounds 1.1 to 2.1 ask for exactly BERT-large's tensors. Call between
// init_start and init_stop.
void log_weights_initialization(mllog::LogWriter& log, std::span<const std::string> tensors);

// Logs train_samples (samples trained on, for judging convergence) and eval_samples (the evaluation
// set's size), each once; call before run_stop.
void log_run_samples(mllog::LogWriter& log, int64_t trained_samples, int64_t eval_samples);

}  // namespace strata::harness
