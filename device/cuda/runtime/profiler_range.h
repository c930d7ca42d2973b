// Names for what profilers show.
#pragma once

namespace strata::device::cuda {

// The host's and the GPU's work while it lives appears under `name` in Nsight Systems and other
// tools that listen to NVTX; without one it costs a few nanoseconds.
class ProfilerRange {
 public:
  explicit ProfilerRange(const char* name);
  ~ProfilerRange();
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;
};

}  // namespace strata::device::cuda
