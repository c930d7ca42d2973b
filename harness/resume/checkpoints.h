// An experiment's checkpoints: when they are due, and which are kept.
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

// The folder of the checkpoint after `step`, and the steps of those that are there, the last first.
std::filesystem::path checkpoint_folder(const std::filesystem::path& checkpoints, int64_t step);
std::vector<int64_t> checkpoint_steps(const std::filesystem::path& checkpoints);

// Whether all ranks were seen to have written it. One that is not marked so may be whole, too: the
// run was interrupted before anybody looked.
bool is_marked_whole(const std::filesystem::path& checkpoint);

// All ranks call together.
class Checkpoints {
 public:
  // Below `folder`. `resumed_after`: the step that the run goes on after; 0 where it begins. All
  // that is taken by reference must outlive it.
  Checkpoints(const config::CheckpointConfig& config, SystemUnderTest& system, Communicator& ranks,
              std::filesystem::path folder, int64_t resumed_after);

  // Whether to take one after `step`; asked once a step. By time the first rank's clock decides.
  bool due(int64_t step);
  // Waits until the one before is written, keeps that and the one before it, and has the system
  // begin this one. What cannot be written is lost, and said so: training goes on.
  void take(int64_t step, const std::string& note);
  // The run has ended, and no rank writes any more.
  void remove_all();

  int taken() const { return taken_; }
  double seconds() const { return seconds_; }  // that training waited for them

 private:
  bool time_is_up();
  void wait_for_last();
  void remove_folder(int64_t step);

  config::CheckpointConfig config_;
  SystemUnderTest& system_;
  Communicator& ranks_;
  std::filesystem::path folder_;
  std::deque<int64_t> written_;       // steps, rising
  int64_t last_, being_written_ = 0;  // 0: none
  Clock::time_point last_time_ = Clock::now();
  int taken_ = 0;
  double seconds_ = 0;
};

}  // namespace strata::harness
