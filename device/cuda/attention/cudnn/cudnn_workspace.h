// Workspace memory of cuDNN's attention.
#pragma once

#include <cstdint>
#include <limits>

#include "base/error.h"
#include "device/cuda/runtime/runtime.h"
#include "device/memory/buffer.h"

namespace strata::device::cuda {

class CudnnWorkspace {
 public:
  // Allocates context.scratch[1]. Returns false if GPU memory has no room, and reports it on
  // standard error the first time. Later calls do not try to allocate that much again.
  bool reserve(const Context& context, int64_t bytes) {
    if (bytes >= too_many_) return false;
    try {
      context.scratch[1].get<char>(bytes);
      return true;
    } catch (const OutOfDeviceMemory& error) {
      if (too_many_ == kNoLimit) {
        print_to_stderr(
            "cuda: cuDNN's attention needs {} MiB of workspace, but there is no memory for it "
            "({}); attention uses kernels that need none\n",
            bytes >> 20, error.what());
      }
      too_many_ = bytes;
      return false;
    }
  }

 private:
  static constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
  int64_t too_many_ = kNoLimit;  // smallest size that did not fit
};

}  // namespace strata::device::cuda
