#include "device/cuda/host/stopwatch.h"

#include <cmath>
#include <utility>

#include "base/timing.h"
#include "device/cuda/runtime/runtime.h"

namespace strata::device::cuda {
namespace {

class EventStopwatch final : public Stopwatch {
 public:
  EventStopwatch(std::function<cudaStream_t(Stream)> stream_of,
                 const std::shared_ptr<HostWaits>& waits)
      : stream_of_(std::move(stream_of)), waits_(waits) {}
  ~EventStopwatch() override {
    for (cudaEvent_t event : events_) cudaEventDestroy(event);
  }

  size_t mark(Stream stream) override {
    const HostWait wait(waits_.get(), "an event on the GPU");
    cudaStream_t marked = stream_of_(stream);
    if (marks_ == events_.size()) {
      cudaEvent_t event = nullptr;
      check(cudaEventCreate(&event), "creating an event");
      events_.push_back(event);
    }
    check(cudaEventRecord(events_[marks_], marked), "recording an event");
    return marks_++;
  }

  std::vector<int64_t> read() override {
    std::vector<int64_t> times;
    if (marks_ == 0) return times;
    const HostWait wait(waits_.get(), "the timing of the GPU");
    for (size_t i = 0; i < marks_; ++i) check(cudaEventSynchronize(events_[i]), "timing");
    // A mark whose time the host knows, too.
    const size_t last = mark(Stream::kCopy);
    check(cudaEventSynchronize(events_[last]), "timing");
    const int64_t now = nanoseconds(Clock::now());
    for (size_t i = 0; i < last; ++i) {
      float milliseconds = 0;
      check(cudaEventElapsedTime(&milliseconds, events_[i], events_[last]), "timing");
      times.push_back(now - std::llround(1e6 * static_cast<double>(milliseconds)));
    }
    marks_ = 0;
    return times;
  }

 private:
  std::function<cudaStream_t(Stream)> stream_of_;
  const std::shared_ptr<HostWaits>& waits_;
  std::vector<cudaEvent_t> events_;  // the first `marks_` are in use
  size_t marks_ = 0;
};

}  // namespace

std::unique_ptr<Stopwatch> make_event_stopwatch(std::function<cudaStream_t(Stream)> stream_of,
                                                const std::shared_ptr<HostWaits>& waits) {
  return std::make_unique<EventStopwatch>(std::move(stream_of), waits);
}

}  // namespace strata::device::cuda
