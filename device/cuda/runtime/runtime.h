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

// Throws Error with the attempted action and CUDA's reason.
void check(cudaError_t status, const char* attempt);

// Throws Error with `expectation` unless `condition` holds.
void require(bool condition, const char* expectation);

// Temporary memory of operations on one stream. It grows to the largest requested size, so that
// repeated shapes allocate nothing. Smaller blocks are retained, because captured operations may
// use them.
class Scratch {
 public:
  Scratch() = default;
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // Returns 256-byte aligned memory. Previous contents of the slot may be lost.
  template <typename T>
  T* get(int64_t count) {
    return static_cast<T*>(bytes(static_cast<size_t>(count) * sizeof(T)));
  }

 private:
  void* bytes(size_t size);

  std::vector<void*> memory_;  // the last one is current
  size_t size_ = 0;            // size of the last one
};

class Matmul;
class AttentionChoice;

// Context of an operation: its stream, scratch slots that it holds at the same time, GEMMs, and the
// choice of attention.
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
