// Threads and scratch memory of the CPU backend.
#pragma once

#include <omp.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "base/threads/first_error.h"
#include "base/threads/per_thread.h"
#include "device/cpu/kernels/aligned_memory.h"
#include "device/cpu/kernels/rows/row_blocks.h"
#include "device/cpu/kernels/table.h"

namespace strata::device::cpu {

// Memory that only grows; 64-byte aligned, uninitialised.
class Scratch {
 public:
  template <typename T>
  T* get(int64_t count) {
    const size_t needed = static_cast<size_t>(count) * sizeof(T);
    if (needed > bytes_) {
      memory_.reset(static_cast<char*>(allocate_aligned(needed)));
      if (!memory_) throw std::bad_alloc();
      bytes_ = needed;
    }
    return reinterpret_cast<T*>(memory_.get());
  }

 private:
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  std::unique_ptr<char, Free> memory_;
  size_t bytes_ = 0;
};

// Copies `rows` rows of `source` to scratch and fills up with zeros to `padded` rows.
template <typename T>
T* padded_copy(const T* source, int64_t rows, int64_t padded, int64_t columns, Scratch& scratch) {
  T* copy = scratch.get<T>(padded * columns);
  std::copy_n(source, rows * columns, copy);
  std::fill_n(copy + rows * columns, (padded - rows) * columns, T{});
  return copy;
}

// The kernels, threads and stream scratch that an operation uses. An operation uses one slot for
// each piece of scratch that it holds at the same time.
struct Context {
  const VectorKernels& kernels;
  int threads;
  std::array<Scratch, 8>& scratch;

  template <typename T>
  const TypedKernels<T>& typed() const;
};

template <>
inline const TypedKernels<float>& Context::typed<float>() const {
  return kernels.f32;
}
template <>
inline const TypedKernels<uint16_t>& Context::typed<uint16_t>() const {
  return kernels.bf16;
}
template <>
inline const TypedKernels<Float16>& Context::typed<Float16>() const {
  return kernels.f16;
}

// Returns scratch of the calling thread, for kernels over rows of `columns`.
inline float* row_scratch(int64_t columns) {
  static PerThread<Scratch> scratch;
  return scratch.get().get<float>(scratch_floats(columns));
}

// Number of threads that OpenMP gives to the calling thread: one inside a parallel region.
inline int openmp_threads() { return omp_in_parallel() ? 1 : omp_get_max_threads(); }

// Calls work(begin, end, part) over an even split of [0, count), one part per thread. The split
// depends only on count and threads. A single thread needs no OpenMP region. Rethrows a thread's
// exception after the region.
template <typename Work>
void parallel_ranges(int threads, int64_t count, const Work& work) {
  const int parts = static_cast<int>(std::min<int64_t>(threads, count));
  if (parts <= 1) {
    if (count > 0) work(int64_t{0}, count, 0);
    return;
  }
  FirstError error;
#pragma omp parallel for num_threads(parts) schedule(static, 1)
  for (int part = 0; part < parts; ++part) {
    error.guard([&] { work(count * part / parts, count * (part + 1) / parts, part); });
  }
  error.rethrow();
}

// Calls work(i) for every i in [0, count). Threads take items one by one, which suits work of
// uneven size. Errors are as in parallel_ranges.
template <typename Work>
void parallel_tasks(int threads, int64_t count, const Work& work) {
  if (threads <= 1) {
    for (int64_t i = 0; i < count; ++i) work(i);
    return;
  }
  FirstError error;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (int64_t i = 0; i < count; ++i) error.guard([&] { work(i); });
  error.rethrow();
}

// to[0, count) = from, or += with `accumulate`.
inline void write_or_add(const Context& context, bool accumulate, int64_t count, const float* from,
                         float* to) {
  if (accumulate) {
    context.kernels.add_f32(count, from, to);
  } else {
    std::copy_n(from, count, to);
  }
}

// destination[0, width) = the sum over all rows, or += with `accumulate`. sum(begin, end, partial)
// adds its rows to a zeroed partial sum. The order of additions depends only on rows and threads.
template <typename Sum>
void parallel_sums(const Context& context, int64_t rows, int64_t width, int slot, bool accumulate,
                   float* destination, const Sum& sum) {
  const int64_t stride = round_up(width, 16);
  const int parts = static_cast<int>(std::min<int64_t>(context.threads, rows));
  float* partials = context.scratch[slot].get<float>(stride * std::max(parts, 1));
  parallel_ranges(context.threads, rows, [&](int64_t begin, int64_t end, int part) {
    float* partial = partials + part * stride;
    std::fill_n(partial, width, 0.0f);
    sum(begin, end, partial);
  });
  if (parts == 0 && !accumulate) std::fill_n(destination, width, 0.0f);
  for (int part = 0; part < parts; ++part) {
    write_or_add(context, accumulate || part > 0, width, partials + part * stride, destination);
  }
}

}  // namespace strata::device::cpu
