#include "device/cuda/runtime/autotune.h"

#include <algorithm>
#include <cmath>

#include "device/cuda/runtime/delay.h"

namespace strata::device::cuda {
namespace {

// A timed point in a stream.
class Mark {
 public:
  explicit Mark(cudaStream_t stream) {
    check(cudaEventCreate(&event_), "timing");
    check(cudaEventRecord(event_, stream), "timing");
  }
  ~Mark() { cudaEventDestroy(event_); }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;

  // Waits for both marks.
  float milliseconds_since(const Mark& earlier) const {
    check(cudaEventSynchronize(event_), "timing");
    float time = 0.0f;
    check(cudaEventElapsedTime(&time, earlier.event_, event_), "timing");
    return time;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

// Maximum host time for issuing one run, which is a GEMM or two kernels.
constexpr int kLaunchMicroseconds = 10;

float milliseconds(cudaStream_t stream, const std::function<void()>& issue, int runs) {
  delay(stream, kLaunchMicroseconds * runs);
  const Mark begin(stream);
  for (int i = 0; i < runs; ++i) issue();
  const Mark end(stream);
  return end.milliseconds_since(begin) / static_cast<float>(runs);
}

}  // namespace

bool is_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &status), "asking for a stream's state");
  return status != cudaStreamCaptureStatusNone;
}

float milliseconds(cudaStream_t stream, const std::function<void()>& issue) {
  constexpr int kFewest = 3, kMost = 20;
  constexpr float kEnough = 1.0f;  // total milliseconds of all runs
  const float time = milliseconds(stream, issue, kFewest);
  if (time * kFewest >= kEnough) return time;
  return milliseconds(stream, issue,
                      static_cast<int>(std::min<float>(kMost, std::ceil(kEnough / time))));
}

bool is_clearly_faster(float time, float other) {
  constexpr float kClearly = 0.97f;
  return time < kClearly * other;
}

std::optional<size_t> first_of_fastest(std::span<const float> times) {
  const auto best = std::min_element(times.begin(), times.end());
  if (best == times.end() || *best == kNever) return {};
  const auto first = std::find_if(times.begin(), times.end(),
                                  [&](float time) { return !is_clearly_faster(*best, time); });
  return static_cast<size_t>(first - times.begin());
}

}  // namespace strata::device::cuda
