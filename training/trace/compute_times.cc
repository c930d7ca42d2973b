#include "training/trace/compute_times.h"

#include <algorithm>

namespace strata::training {

void ComputeTimes::begin_forward() { end({}); }

void ComputeTimes::begin_backward() { end({Phase::Kind::kForward}); }

void ComputeTimes::group_final(int64_t end_of_group) {
  const auto boundary =
      std::lower_bound(layout_.boundaries.begin(), layout_.boundaries.end(), end_of_group);
  end({Phase::Kind::kBackward, static_cast<size_t>(boundary - layout_.boundaries.begin()) - 1});
}

void ComputeTimes::end(Phase phase) {
  stopwatch_->mark(device::Stream::kCompute);
  phases_.push_back(phase);
}

ComputeSeconds ComputeTimes::read(Timeline* timeline) {
  const std::vector<int64_t> times = stopwatch_->read();
  ComputeSeconds seconds;
  for (size_t i = 1; i < phases_.size(); ++i) {
    const auto& [kind, group] = phases_[i];
    const double duration = 1e-9 * static_cast<double>(times[i] - times[i - 1]);
    if (kind == Phase::Kind::kForward) {
      seconds.forward += duration;
      seconds.last_backward = 0;
      if (timeline) timeline->add(Lane::kCompute, "forward", times[i - 1], times[i]);
    } else if (kind == Phase::Kind::kBackward) {
      seconds.backward += duration;
      seconds.last_backward += duration;
      if (timeline) {
        timeline->add(Lane::kCompute, "backward " + layout_.groups[group], times[i - 1], times[i]);
      }
    }
  }
  phases_.clear();
  return seconds;
}

}  // namespace strata::training
