// A run's convergence according to its log: the numbers for reference-convergence checks and
// scores.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mllog/log_reader.h"

namespace strata::compliance {

// The official checker's count for runs that did not converge.
inline constexpr double kNeverConverged = 1e9;

// The workload of a run as its log names it. MLPerf has one workload per benchmark; other trainers
// may log the same benchmark with another target or other data.
struct LoggedWorkload {
  std::optional<double> quality_target, eval_samples;
  bool contradicts_itself = false;  // one of them has two values

  // Adds what another log, or a later event, says.
  void add(const LoggedWorkload& other);
  bool operator==(const LoggedWorkload&) const = default;
};

// When a run was evaluated, in the unit of RunConvergence::epochs.
struct EvaluationTimes {
  double first = kNeverConverged;
  double longest_interval = 0;  // between two evaluations
};

struct RunConvergence {
  bool converged = false;  // the last run_stop logs success
  // Epochs, or samples if the benchmark counts those, at the last evaluation before run_stop.
  double epochs = kNeverConverged;
  std::optional<double> batch_size;
  std::string benchmark;          // empty if not logged
  std::string problem;            // why the numbers could not be read; empty if they could
  bool by_train_samples = false;  // whether BERT's count comes from train_samples
  LoggedWorkload workload;
  EvaluationTimes evaluated;
};

// `ruleset` decides the unit of stable diffusion. With `bert_train_samples` BERT's count is the
// last train_samples before run_stop instead of the last evaluation's epoch_num: the value of such
// an event, or that field of another event's metadata. For the latter the official checker takes
// the event's value, which is an accuracy.
RunConvergence read_convergence(const mllog::LogReader& log, std::string_view ruleset,
                                bool bert_train_samples = false);

// Returns whether the log has a run_stop and each logs success. Throws Error if a large log cannot
// be read again.
bool says_success(const mllog::LogReader& log);

// Combines the runs of one result folder.
struct FolderConvergence {
  std::optional<double> batch_size;
  std::vector<double> epochs;  // one per run
  std::string benchmark;
  bool enough = false;  // at most as many runs failed to converge as may be dropped
  std::string problem;  // batch sizes or benchmarks that differ, or a log that could not be read
  bool by_train_samples = false;  // true if it is true for every run
  LoggedWorkload workload;
  // Whether every run names its benchmark and its batch size.
  bool named = true;
  // The latest first evaluation and the longest interval of all runs. A run that did not converge
  // may have no evaluation.
  EvaluationTimes evaluated;
};
FolderConvergence combine(const std::vector<RunConvergence>& runs);

}  // namespace strata::compliance
