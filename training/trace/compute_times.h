// When forward and backward ran on a device.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "bert/parameters.h"
#include "device/backend.h"
#include "training/trace/timeline.h"

namespace strata::training {

struct ComputeSeconds {
  double forward = 0;
  double backward = 0;       // until the last gradient was final
  double last_backward = 0;  // of the last micro-batch, which communication runs beside
};

// Marks Stream::kCompute as a step is issued, which must not be kept (Backend::keep).
class ComputeTimes {
 public:
  ComputeTimes(device::Backend& backend, const bert::ParameterLayout& layout)
      : stopwatch_(backend.make_stopwatch()), layout_(layout) {}

  // A micro-batch's forward begins with what is issued next, and so does its backward.
  void begin_forward();
  void begin_backward();
  // The gradients up to arena element `end` are final.
  void group_final(int64_t end);

  // Over the micro-batches since the last call; waits for them. Adds what ran when to `timeline`,
  // which may be null.
  ComputeSeconds read(Timeline* timeline);

 private:
  // What ended with a mark: a group of parameters' backward, or forward, or what was before it.
  struct Phase {
    enum class Kind : uint8_t { kOther, kForward, kBackward } kind = Kind::kOther;
    size_t group = 0;
  };
  void end(Phase phase);

  std::unique_ptr<device::Stopwatch> stopwatch_;
  const bert::ParameterLayout& layout_;
  std::vector<Phase> phases_;  // of every mark
};

}  // namespace strata::training
