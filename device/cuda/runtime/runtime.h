// The CUDA runtime, with errors as exceptions and memory as values.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "device/cuda/runtime/profiler_range.h"
#include "device/links/collectives.h"

namespace strata::device::cuda {

// Throws Error that names what was attempted and CUDA's reason.
void check(cudaError_t status, const char* attempt);

// Throws Error with `expectation` where it does not hold.
void require(bool condition, const char* expectation);

// Memory of one stream that operations use while they run; grows to the largest size asked for, so
// that repeated shapes allocate nothing. What it grew out of stays, for operations that were kept
// to be launched.
class Scratch {
 public:
  Scratch() = default;
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // 256-byte aligned. What a slot held before may be gone.
  template <typename T>
  T* get(int64_t count) {
    return static_cast<T*>(bytes(static_cast<size_t>(count) * sizeof(T)));
  }

 private:
  void* bytes(size_t size);

  std::vector<void*> memory_;  // the last is in use
  size_t size_ = 0;            // of the last
};

class Matmul;
class AttentionChoice;

// What an operation works with: its stream, scratch in slots that it holds at the same time, matrix
// GEMMs, and which attention runs.
struct Context {
  static constexpr int kScratchSlots = 8;

  cudaStream_t stream;
  Scratch* scratch;  // [kScratchSlots]
  Matmul& matmul;
  AttentionChoice& attention;
  int multiprocessors;
  ProfilerRange range;
  HostWait wait;  // a launch waits for the GPU while its queue is full
};

}  // namespace strata::device::cuda
