#include "training/trace/compute_times.h"

#include <algorithm>
#include <utility>

namespace strata::training {

void ComputeTimes::begin() {
  stopwatch_->mark(device::Stream::kCompute);
  ended_.emplace_back();
}

void ComputeTimes::end(const Task& task, const std::string& block) {
  stopwatch_->mark(device::Stream::kCompute);
  ended_.push_back({task, block});
}

ComputeSeconds ComputeTimes::read(Timeline* timeline) {
  const std::vector<int64_t> times = stopwatch_->read();
  const std::vector<Ended> ended = std::exchange(ended_, {});
  int last = 0;
  for (const Ended& each : ended) last = std::max(last, each.task ? each.task->micro_batch : 0);
  ComputeSeconds seconds;
  for (size_t i = 1; i < ended.size(); ++i) {
    if (!ended[i].task) continue;
    const Task& task = *ended[i].task;
    const double duration = 1e-9 * static_cast<double>(times[i] - times[i - 1]);
    if (task.kind == Task::Kind::kForward) {
      seconds.forward += duration;
    } else if (task.kind == Task::Kind::kReceiveInput ||
               task.kind == Task::Kind::kReceiveGradient) {
      seconds.waiting += duration;
    } else {
      seconds.backward += duration;
      if (task.micro_batch == last) seconds.last_backward += duration;
    }
    if (timeline) {
      timeline->add(comm::Lane::kCompute, std::string(name_of(task.kind)) + " " + ended[i].block,
                    times[i - 1], times[i]);
    }
  }
  return seconds;
}

}  // namespace strata::training
