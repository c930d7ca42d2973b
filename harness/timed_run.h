// The timed region of one experiment, and its progress display.
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
// up. A run may end between two evaluations, at its last step or because the loss is not finite. It
// is then evaluated once more, so that its log has an evaluation, but it is never a success.
class TimedRun {
 public:
  // `resumed` is the point from which an interrupted run continues. References must outlive the
  // object.
  TimedRun(const Benchmark& benchmark, ExperimentLog& log, Checkpoints& checkpoints, uint64_t seed,
           const std::optional<ResumePoint>& resumed);

  // For work outside run(): show lines and phases to people, on the first rank only.
  void say(const std::string& line);
  void show(const std::string& phase);

  // Runs from run_start, or from the resume point, to run_stop. All ranks call together. The caller
  // sets the result's experiment and log.
  ExperimentResult run();
  // Returns whether training began: the data could be opened, or an earlier job had begun it.
  bool began() const { return began_; }
  // Returns the seconds that run() took, without the time before a resume.
  double seconds() const { return seconds_; }

 private:
  // Logs the beginning, and returns the result so far.
  ExperimentResult begin();
  DataFacts start_system();
  void train_until(int64_t samples, ExperimentResult& result);
  // Logs a block that ends with the first step that reaches `end` samples.
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
  std::optional<int64_t> block_;  // first sample of the open block, if any
  const int64_t max_steps_, global_batch_;
  Progress progress_;
  ProgressState state_;
  double seconds_ = 0;
  bool began_ = false, diverged_ = false;
  bool loss_is_read_ = false;  // the last step's loss was read
};

}  // namespace strata::harness
