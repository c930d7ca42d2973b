// The timed region of one experiment, and what it shows while it lasts.
#pragma once

#include <string>

#include "config/run_config.h"
#include "harness/progress.h"
#include "harness/record/experiment_log.h"
#include "harness/record/experiment_result.h"
#include "harness/system_under_test.h"

namespace strata::harness {

// Blocks of training, each followed by an evaluation, until the target. Evaluation k comes after
// the first step that reaches k intervals of samples, so that roundings to whole steps do not add
// up.
class TimedRun {
 public:
  // All that is taken by reference must outlive it.
  TimedRun(const config::RunConfig& config, SystemUnderTest& system, ExperimentLog& log);

  // Lines and phases for people, from the first rank only, before run().
  void say(const std::string& line);
  void show(const std::string& phase);

  // From run_start to run_stop; all ranks call together. The result says neither which experiment
  // it is of nor its seed.
  ExperimentResult run();
  // Whether the data could be opened, so that training began.
  bool began() const { return began_; }

 private:
  void train_until(int64_t samples, ExperimentResult& result);
  double evaluate(int64_t samples);
  void check_clocks(double seconds);

  const config::RunConfig& config_;
  SystemUnderTest& system_;
  ExperimentLog& log_;
  const int64_t max_steps_, interval_;
  Progress progress_;
  ProgressState state_;
  bool began_ = false, diverged_ = false;
};

}  // namespace strata::harness
