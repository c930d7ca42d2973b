// Decides when an experiment's checkpoints are due, and which are kept.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>
#include <vector>

#include "base/timing.h"
#include "config/run_config.h"
#include "harness/communicator.h"
#include "harness/system_under_test.h"

namespace strata::harness {

// Return the folder of the checkpoint after `step`, and the steps of existing checkpoints, last
// first.
std::filesystem::path checkpoint_folder(const std::filesystem::path& checkpoints, int64_t step);
std::vector<int64_t> checkpoint_steps(const std::filesystem::path& checkpoints);

// Returns whether the checkpoint is marked as written by all ranks. An unmarked checkpoint may be
// complete, too, if the run was interrupted before it was marked.
bool is_marked_whole(const std::filesystem::path& checkpoint);

// All ranks must call every function together.
class Checkpoints {
 public:
  // Keeps checkpoints in `folder`. `resumed_after` is the step after which the run resumes, or 0
  // for a new run. References must outlive the object.
  Checkpoints(const config::CheckpointConfig& config, SystemUnderTest& system, Communicator& ranks,
              std::filesystem::path folder, int64_t resumed_after);

  // Returns whether to take a checkpoint after `step`. Call at most once a step. For every_seconds
  // the first rank's clock decides.
  bool due(int64_t step);
  // Waits until the previous checkpoint is written, removes all but the last two, and begins this
  // one. Reports a checkpoint that cannot be written; training goes on.
  void take(int64_t step, const std::string& note);
  // Call after the run has ended and no rank writes any more.
  void remove_all();

  int taken() const { return taken_; }
  double seconds() const { return seconds_; }  // seconds that training waited for them

 private:
  bool time_is_up();
  void wait_for_last();
  void remove_folder(int64_t step);

  config::CheckpointConfig config_;
  SystemUnderTest& system_;
  Communicator& ranks_;
  std::filesystem::path folder_;
  std::deque<int64_t> written_;       // steps in ascending order
  int64_t last_, being_written_ = 0;  // 0: none
  Clock::time_point last_time_ = Clock::now();
  int taken_ = 0;
  double seconds_ = 0;
};

}  // namespace strata::harness
