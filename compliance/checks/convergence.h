// What a log says about how a run converged: the numbers that reference-convergence checks and
// scores need.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compliance/log/event_log.h"

namespace strata::compliance {

// The count that stands for "did not converge" in the official checker's statistics.
inline constexpr double kNeverConverged = 1e9;

struct RunConvergence {
  bool converged = false;           // the last run_stop says success
  double epochs = kNeverConverged;  // at the last evaluation before run_stop: epochs, or samples,
                                    // as the benchmark counts
  std::optional<double> batch_size;
  std::string benchmark;          // empty where not logged
  std::string problem;            // why the numbers could not be read; empty where they could
  bool by_train_samples = false;  // BERT's count is that of train_samples
};

// `ruleset` decides in which unit stable diffusion counts. With `bert_train_samples` BERT's count
// is the last that train_samples says before run_stop, in place of the last evaluation's epoch_num:
// the value of such an event, or that field of another event's metadata. The official checker takes
// the value of the event there, too, which is an accuracy.
RunConvergence read_convergence(const EventLog& log, std::string_view ruleset,
                                bool bert_train_samples = false);

// Whether the log has a run_stop and each says success. Throws Error where a large log cannot be
// read again.
bool says_success(const EventLog& log);

// The runs of one result folder taken together.
struct FolderConvergence {
  std::optional<double> batch_size;
  std::vector<double> epochs;  // one a run
  std::string benchmark;
  bool enough = false;  // at most as many runs failed to converge as may be dropped
  std::string problem;  // batch sizes or benchmarks that differ, or a log that could not be read
  bool by_train_samples = false;  // of every run
};
FolderConvergence combine(const std::vector<RunConvergence>& runs);

}  // namespace strata::compliance
