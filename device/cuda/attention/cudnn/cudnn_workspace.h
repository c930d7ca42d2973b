// The memory that cuDNN's attention works in.
#pragma once

#include <cstdint>
#include <limits>

#include "base/error.h"
#include "device/cuda/runtime/runtime.h"
#include "device/memory/buffer.h"

namespace strata::device::cuda {

class CudnnWorkspace {
 public:
  // Allocates context.scratch[1]. Returns false if GPU memory has no room, which the first time is
  // said on the standard error; as much is then not asked for again.
  bool reserve(const Context& context, int64_t bytes) {
    if (bytes >= too_many_) return false;
    try {
      context.scratch[1].get<char>(bytes);
      return true;
    } catch (const OutOfDeviceMemory& error) {
      if (too_many_ == kNoLimit) {
        print_to_stderr(
            "cuda: cuDNN's attention wants {} MiB of workspace, for which there is no memory ({}); "
            "attention goes on with kernels that need none\n",
            bytes >> 20, error.what());
      }
      too_many_ = bytes;
      return false;
    }
  }

 private:
  static constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
  int64_t too_many_ = kNoLimit;  // as many bytes there was no room for
};

}  // namespace strata::device::cuda
