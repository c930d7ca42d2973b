// Named ranges for profilers.
#pragma once

namespace strata::device::cuda {

// Work of the host and the GPU during its lifetime appears under `name` in Nsight Systems and other
// tools that listen to NVTX. Without such a tool it costs a few nanoseconds.
class ProfilerRange {
 public:
  explicit ProfilerRange(const char* name);
  ~ProfilerRange();
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;
};

}  // namespace strata::device::cuda
