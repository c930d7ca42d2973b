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
  double backward = 0;       // until the last gradient was complete
  double last_backward = 0;  // of the last micro-batch, which communication runs beside
  double waiting = 0;        // for what other stages send
};

// Marks Stream::kCompute as a step is issued, which must not be captured (Backend::capture).
class ComputeTimes {
 public:
  explicit ComputeTimes(device::Backend& backend) : stopwatch_(backend.make_stopwatch()) {}

  // What is issued next belongs to the task that ends next.
  void begin();
  // A block's forward or backward has been issued, or the wait for what it receives is over.
  void end(const Task& task, const std::string& block);

  // Over the tasks since the last call; waits for them. Adds what ran when to `timeline`, which may
  // be null.
  ComputeSeconds read(Timeline* timeline);

 private:
  // What ended with a mark: a task, or what was before the first one.
  struct Ended {
    std::optional<Task> task;
    std::string block;
  };

  std::unique_ptr<device::Stopwatch> stopwatch_;
  std::vector<Ended> ended_;  // of every mark
};

}  // namespace strata::training
