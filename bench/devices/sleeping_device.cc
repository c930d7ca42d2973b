#include "bench/devices/sleeping_device.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <unordered_map>

#include "base/error.h"
#include "base/text/counts.h"
#include "base/timing.h"
#include "device/sample/sample_backend.h"

namespace strata::bench {
namespace {

using device::Stream;

class SleepingDevice final : public device::sample::SampleBackend {
 public:
  SleepingDevice(double flops_per_second, bool resident)
      : flops_per_second_(flops_per_second), populate_(resident ? MAP_POPULATE : 0) {
    if (flops_per_second <= 0)
      fail("a sleeping device of {} FLOP/s: the speed must be above 0", flops_per_second);
  }

  std::string name() const override { return "sleeping"; }
  std::string description() const override {
    return fmt::format("sleeping device of {} GFLOP/s, which computes nothing",
                       rounded_text(flops_per_second_ / 1e9));
  }

  void* allocate(size_t bytes) override {
    const size_t mapped = std::max<size_t>(bytes, 1);
    void* memory = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | populate_, -1, 0);
    if (memory == MAP_FAILED) fail("sleeping: cannot allocate {} MiB", bytes >> 20);
    mapped_[memory] = mapped;
    return memory;
  }
  void release(void* memory) override {
    const auto found = mapped_.find(memory);
    ::munmap(found->first, found->second);
    mapped_.erase(found);
  }

#define STRATA_SLEEP(function, Arguments, without) \
  void function(Stream stream, const device::Arguments& op) override { spend(stream, flops(op)); }
  STRATA_OPERATIONS(STRATA_SLEEP)
#undef STRATA_SLEEP
  void fill_zero(Stream, void*, size_t) override {}

 private:
  template <typename Op>
  static double flops(const Op&) {
    return 0;
  }
  static double flops(const device::LinearForward& op) { return 2 * product(op.x.rows, op.weight); }
  static double flops(const device::LinearDataGradient& op) {
    return 2 * product(op.dy.rows, op.weight);
  }
  static double flops(const device::LinearWeightGradient& op) {
    return 2 * product(op.x.rows, op.d_weight);
  }
  static double flops(const device::AttentionForward& op) {
    return 4 * pairs(op.sequences) * static_cast<double>(op.context.cols);
  }
  static double flops(const device::AttentionBackward& op) {
    return 8 * pairs(op.sequences) * static_cast<double>(op.context.cols);
  }
  static double flops(const device::ClassifierLoss& op) {
    return (op.d_x ? 6 : 2) * product(op.x.rows, op.weight);
  }

  // Returns the multiply-adds of `rows` rows with a matrix of this shape.
  template <typename Matrix>
  static double product(int64_t rows, const Matrix& matrix) {
    return static_cast<double>(rows) * static_cast<double>(matrix.size());
  }
  // Returns the pairs of tokens of the same sequence.
  static double pairs(const device::Sequences& sequences) {
    double sum = 0;
    for (int64_t i = 0; i < sequences.count; ++i) {
      const double length = sequences.cu_seqlens[i + 1] - sequences.cu_seqlens[i];
      sum += length * length;
    }
    return sum;
  }

  // Requires one thread that issues compute. Later operations make up for oversleeping, but not for
  // the thread's own work or waits between operations.
  void spend(Stream stream, double flops) {
    if (stream != Stream::kCompute || flops == 0) return;
    busy_until_ += Clock::now() - awake_since_;
    busy_until_ += std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(flops / flops_per_second_));
    std::this_thread::sleep_until(busy_until_);
    awake_since_ = Clock::now();
  }

  double flops_per_second_;
  int populate_;                              // a flag of mmap, or none
  std::unordered_map<void*, size_t> mapped_;  // bytes
  // The time at which the work ends if this thread never wakes up late, and its last awakening.
  Clock::time_point busy_until_ = Clock::now(), awake_since_ = busy_until_;
};

}  // namespace

std::unique_ptr<device::Backend> make_sleeping_device(double flops_per_second, bool resident) {
  return std::make_unique<SleepingDevice>(flops_per_second, resident);
}

}  // namespace strata::bench
