#include "device/cpu/cpu_backend.h"

#include <gtest/gtest.h>
#include <omp.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <thread>

#include "device/memory/buffer.h"

namespace strata::device::cpu {
namespace {

constexpr size_t kBytes = (size_t{32} << 20) + 64;

// Returns the number of pages that each thread of a parallel region of two touched first.
std::array<int64_t, 2> faults_of_threads() {
  std::array<int64_t, 2> faults = {};
#pragma omp parallel num_threads(2)
  {
    rusage usage;
    ::getrusage(RUSAGE_THREAD, &usage);
    faults[static_cast<size_t>(omp_get_thread_num())] = usage.ru_minflt;
  }
  return faults;
}

TEST(CpuBackend, ThreadsTouchTheirPartsOfMemoryFirst) {
  const auto backend = make_cpu_backend(DType::kF32, 2);
  const auto before = faults_of_threads();
  void* memory = backend->allocate(kBytes);
  const auto after = faults_of_threads();
  const int64_t first = after[0] - before[0], second = after[1] - before[1];
  EXPECT_GT(second, (first + second) / 3) << first << " by the first thread";
  EXPECT_GT(first, (first + second) / 3) << second << " by the second";
  backend->release(memory);
}

// Number of threads of this process.
int64_t threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

// Runs an operation that uses several threads on a stream.
void work_on(Backend& backend, Stream stream) {
  constexpr int64_t kElements = int64_t{1} << 22;
  Buffer memory(backend, kElements * sizeof(float)), norm(backend, sizeof(double));
  backend.l2_norm_squared(
      stream, {.x = {memory.data(), DType::kF32, 1, kElements}, .norm_squared = norm.as<double>()});
}

TEST(CpuBackend, SharesOnePoolOfThreadsBetweenBothStreams) {
  const auto backend = make_cpu_backend(DType::kF32, 5);
  work_on(*backend, Stream::kCompute);
  const int64_t before = threads();
  EXPECT_GE(before, 5);
  int64_t beside = 0;
  std::thread([&] {
    work_on(*backend, Stream::kReduce);
    beside = threads();
  }).join();
  EXPECT_EQ(beside, before + 1) << "the thread itself";
  work_on(*backend, Stream::kReduce);
  EXPECT_EQ(threads(), before);
}

TEST(CpuBackend, NewAndFilledMemoryIsZero) {
  const auto backend = make_cpu_backend(DType::kF32, 3);
  for (int i = 0; i < 2; ++i) {  // the second allocation may reuse memory
    auto* memory = static_cast<char*>(backend->allocate(kBytes));
    EXPECT_TRUE(std::all_of(memory, memory + kBytes, [](char c) { return c == 0; }));
    std::memset(memory, 1, kBytes);
    backend->fill_zero(Stream::kCompute, memory + 5, kBytes - 12);
    EXPECT_TRUE(std::all_of(memory + 5, memory + kBytes - 7, [](char c) { return c == 0; }));
    EXPECT_EQ(memory[4] + memory[kBytes - 7], 2) << "it filled more";
    std::memset(memory, 1, kBytes);
    backend->release(memory);
  }
}

}  // namespace
}  // namespace strata::device::cpu
