#include "device/cuda/runtime/runtime.h"

#include <algorithm>

#include "base/error.h"
#include "device/memory/buffer.h"

namespace strata::device::cuda {

void check(cudaError_t status, const char* attempt) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // clears the error, which the next call would report otherwise
  fail("cuda: {} failed: {}", attempt, cudaGetErrorString(status));
}

void require(bool condition, const char* expectation) {
  if (!condition) fail("{}", expectation);
}

Scratch::~Scratch() {
  for (void* memory : memory_) cudaFree(memory);
}

void* Scratch::bytes(size_t size) {
  if (!memory_.empty() && size <= size_) return memory_.back();
  // Sizes at least double, so that the retained smaller blocks are together no larger than the
  // current one.
  const size_t wanted = std::max({size + size / 8, 2 * size_, size_t{4096}});
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, wanted);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw OutOfDeviceMemory(
        "cuda: no GPU memory is left for scratch memory; use a smaller micro-batch");
  }
  check(status, "allocating scratch memory");
  memory_.push_back(memory);
  size_ = wanted;
  return memory;
}

}  // namespace strata::device::cuda
