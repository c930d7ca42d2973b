#include "device/cuda/runtime/autotune.h"

namespace strata::device::cuda {
namespace {

// A point in a stream.
class Mark {
 public:
  explicit Mark(cudaStream_t stream) {
    check(cudaEventCreate(&event_), "timing");
    check(cudaEventRecord(event_, stream), "timing");
  }
  ~Mark() { cudaEventDestroy(event_); }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;

  // Waits for both.
  float milliseconds_since(const Mark& earlier) const {
    check(cudaEventSynchronize(event_), "timing");
    float time = 0.0f;
    check(cudaEventElapsedTime(&time, earlier.event_, event_), "timing");
    return time;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace

bool is_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &status), "asking for a stream's state");
  return status != cudaStreamCaptureStatusNone;
}

float milliseconds(cudaStream_t stream, const std::function<void()>& issue) {
  constexpr int kRuns = 3;
  const Mark begin(stream);
  for (int i = 0; i < kRuns; ++i) issue();
  const Mark end(stream);
  return end.milliseconds_since(begin) / kRuns;
}

}  // namespace strata::device::cuda
