#include <cstring>

#include "device/backend.h"
#include "device/cuda/runtime/kernel.h"
#include "device/cuda/runtime/store.h"

namespace strata::device::cuda {
namespace {

struct Values {
  unsigned char bytes[Backend::kMostStored];
};

__global__ void store_kernel(Values values, unsigned char* to, int count) {
  const int i = static_cast<int>(threadIdx.x);
  if (i < count) to[i] = values.bytes[i];
}

}  // namespace

void store(cudaStream_t stream, void* device, const void* values, size_t bytes) {
  require(bytes <= Backend::kMostStored, "store() takes only a few bytes at once");
  Values copy{};
  if (bytes > 0) std::memcpy(copy.bytes, values, bytes);
  launch(stream, bytes > 0 ? 1 : 0, Backend::kMostStored, store_kernel, copy,
         static_cast<unsigned char*>(device), static_cast<int>(bytes));
}

}  // namespace strata::device::cuda
