#include "device/cuda/runtime.h"

#include <algorithm>

#include "base/error.h"

namespace strata::device::cuda {

void check(cudaError_t status, const char* attempt) {
  if (status != cudaSuccess) fail("cuda: {} failed: {}", attempt, cudaGetErrorString(status));
}

void require(bool condition, const char* expectation) {
  if (!condition) fail("{}", expectation);
}

Scratch::~Scratch() { cudaFree(memory_); }

void* Scratch::bytes(size_t size) {
  if (size <= size_) return memory_;
  check(cudaStreamSynchronize(stream_), "waiting for a stream");
  check(cudaFree(memory_), "releasing memory");
  memory_ = nullptr;
  size_ = 0;
  const size_t wanted = std::max<size_t>(size + size / 8, 4096);
  check(cudaMalloc(&memory_, wanted), "allocating scratch memory");
  size_ = wanted;
  return memory_;
}

}  // namespace strata::device::cuda
