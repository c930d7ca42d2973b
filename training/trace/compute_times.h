// When forward and backward ran on a device.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/backend.h"
#include "training/schedules/schedule.h"
#include "training/trace/timeline.h"

namespace strata::training {

struct ComputeSeconds {
  double forward = 0;
  double backward = 0;       // backward and recomputation of all micro-batches
  double last_backward = 0;  // the last micro-batch's part of `backward`; hides communication
  double waiting = 0;        // wait for messages of other stages
};

// Records times on Stream::kCompute while a step is issued. Must not be captured
// (Backend::capture).
class ComputeTimes {
 public:
  explicit ComputeTimes(device::Backend& backend) : stopwatch_(backend.make_stopwatch()) {}

  // Starts the clock for the task whose end() comes next.
  void begin();
  // Call after issuing a block's forward or backward, or after the wait for its message.
  void end(const Task& task, const std::string& block);

  // Returns the seconds of the tasks since the last call, and waits for them. Adds each task's span
  // to `timeline`, unless it is null.
  ComputeSeconds read(Timeline* timeline);

 private:
  // The task that ended at a mark, or nothing for a start of the clock.
  struct Ended {
    std::optional<Task> task;
    std::string block;
  };

  std::unique_ptr<device::Stopwatch> stopwatch_;
  std::vector<Ended> ended_;  // one per mark
};

}  // namespace strata::training
