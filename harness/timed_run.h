// The timed region of one experiment, and what it shows while it lasts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/run_config.h"
#include "harness/benchmark.h"
#include "harness/progress.h"
#include "harness/record/experiment_log.h"
#include "harness/record/experiment_result.h"
#include "harness/resume/checkpoints.h"
#include "harness/resume/resume_point.h"

namespace strata::harness {

// Blocks of training, each followed by an evaluation, until the target. Evaluation k comes after
// the first step that reaches k intervals of samples, so that roundings to whole steps do not add
// up. A run that ends between two of them, at its last step or because the loss is not finite, is
// evaluated once more, so that every log has an evaluation; that one never makes it a success.
class TimedRun {
 public:
  // `resumed`: where the run goes on from, if it was interrupted. All that is taken by reference
  // must outlive it.
  TimedRun(const Benchmark& benchmark, ExperimentLog& log, Checkpoints& checkpoints, uint64_t seed,
           const std::optional<ResumePoint>& resumed);

  // Lines and phases for people, from the first rank only, before run().
  void say(const std::string& line);
  void show(const std::string& phase);

  // From run_start, or from where it goes on, to run_stop; all ranks call together. The result does
  // not say which experiment it is of.
  ExperimentResult run();
  // Whether the data could be opened, so that training began.
  bool began() const { return began_; }
  // That run() took; of a resumed run since it goes on.
  double seconds() const { return seconds_; }

 private:
  // The result so far.
  ExperimentResult begin();
  DataFacts start_system();
  void train_until(int64_t samples, ExperimentResult& result);
  // A block that trains until the first step that reaches `end` samples.
  void begin_block(int64_t first, int64_t end);
  void take_checkpoint(const ExperimentResult& result);
  double evaluate(int64_t samples, bool on_cadence);
  int64_t logged_ms();  // the time of the log's last event; 0 on ranks without a log
  void check_clocks(double logged_seconds);

  const config::RunConfig& config_;
  SystemUnderTest& system_;
  Communicator& ranks_;
  ExperimentLog& log_;
  Checkpoints& checkpoints_;
  const uint64_t seed_;
  const std::optional<ResumePoint> resumed_;
  DataFacts data_;
  std::optional<int64_t> block_;  // where the open one began, in samples
  const int64_t max_steps_, global_batch_;
  Progress progress_;
  ProgressState state_;
  double seconds_ = 0;
  bool began_ = false, diverged_ = false;
  bool loss_is_read_ = false;  // that of the last step
};

}  // namespace strata::harness
