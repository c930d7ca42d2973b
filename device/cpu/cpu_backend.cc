#include "device/cpu/cpu_backend.h"

#include <omp.h>

#include <atomic>
#include <cstring>
#include <string_view>
#include <thread>

#include "base/error.h"
#include "device/cpu/gemm/matmul.h"
#include "device/cpu/kernels/aligned_memory.h"
#include "device/cpu/operations.h"
#include "device/operations/dispatching_backend.h"
#include "device/plain/host_memory_backend.h"

namespace strata::device::cpu {
namespace {

// Streams differ only in their scratch memory, so that threads may use different streams at once.
template <typename T>
class CpuBackend final : public DispatchingBackend<Operations<T>, Context, HostMemoryBackend> {
  using Dispatching = DispatchingBackend<Operations<T>, Context, HostMemoryBackend>;

 public:
  explicit CpuBackend(int threads) : kernels_(kernels_for_this_cpu()), threads_(threads) {}

  std::string name() const override { return "cpu"; }
  std::string description() const override {
    return fmt::format(
        "cpu, {} thread{}, {} kernels, {} GEMMs by {}", threads_, threads_ == 1 ? "" : "s",
        kernels_.instruction_set,
        kInF16 || (kBF16 && !onednn_multiplies_bf16()) ? "f32" : name_of(compute_dtype()),
        kBF16 && multiplies_bf16_pairs() ? "AVX-512 BF16" : "oneDNN");
  }
  DType compute_dtype() const override { return dtype_of<T>(); }
  DType master_dtype() const override { return DType::kF32; }
  bool supports(Operation operation, DType dtype) const override {
    return is_float8(dtype) ? !kInF16 : Dispatching::supports(operation, dtype);
  }
  std::vector<std::pair<std::string, std::string>> library_versions() const override {
    return {{"oneDNN", onednn_version()}};
  }

  void* allocate(size_t bytes) override {
    void* memory = allocate_aligned(bytes);
    if (!memory)
      fail("cannot allocate {} MiB of memory; use a smaller model or micro-batch", bytes >> 20);
    // The threads that touch pages first determine their NUMA node.
    zero(memory, bytes);
    return memory;
  }
  void fill_zero(Stream, void* device, size_t bytes) override { zero(device, bytes); }

 private:
  static constexpr bool kInF16 = dtype_of<T>() == DType::kF16;
  static constexpr bool kBF16 = dtype_of<T>() == DType::kBF16;

  // Uses all threads for large memory only.
  void zero(void* memory, size_t bytes) const {
    constexpr size_t kWorthIt = size_t{1} << 20;
    const auto count = static_cast<int64_t>(bytes);
    parallel_ranges(
        bytes < kWorthIt ? 1 : threads_of_caller(), count, [&](int64_t begin, int64_t end, int) {
          std::memset(static_cast<char*>(memory) + begin, 0, static_cast<size_t>(end - begin));
        });
  }

  // OpenMP stores the thread count per calling thread; oneDNN reads it.
  Context on(Stream stream, const char*) override {
    if (stream == Stream::kCompute) computing_ = std::this_thread::get_id();
    const int threads = threads_of_caller();
    if (omp_get_max_threads() != threads) omp_set_num_threads(threads);
    return {kernels_, threads, scratch_[static_cast<size_t>(stream)]};
  }

  // OpenMP keeps a thread pool for every thread that starts parallel work. Only the thread that
  // issues to kCompute uses one; operations that other threads issue concurrently are
  // single-threaded.
  int threads_of_caller() const {
    const std::thread::id computing = computing_;
    const bool alone = computing != std::thread::id() && computing != std::this_thread::get_id();
    return alone ? 1 : threads_;
  }

  const VectorKernels& kernels_;
  int threads_;
  std::atomic<std::thread::id> computing_{};  // the last thread that issued to kCompute
  std::array<std::array<Scratch, 8>, 3> scratch_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(DType compute_dtype, int threads) {
  if (threads < 0)
    fail("device.threads={}: give a number of threads, or 0 for all processors", threads);
  if (threads == 0) threads = omp_get_num_procs();
  switch (compute_dtype) {
    case DType::kF32:
      return std::make_unique<CpuBackend<float>>(threads);
    case DType::kBF16:
      return std::make_unique<CpuBackend<uint16_t>>(threads);
    case DType::kF16:
      return std::make_unique<CpuBackend<Float16>>(threads);
    default:
      break;
  }
  fail("the cpu backend computes in f32, bf16 or f16, not {}{}", name_of(compute_dtype),
       compute_dtype == DType::kF64 ? "; the reference backend does" : "");
}

}  // namespace strata::device::cpu
