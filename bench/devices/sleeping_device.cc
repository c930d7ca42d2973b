#include "bench/devices/sleeping_device.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <unordered_map>

#include "base/error.h"
#include "base/timing.h"
#include "device/sample/sample_backend.h"

namespace strata::bench {
namespace {

using device::Stream;

class SleepingDevice final : public device::sample::SampleBackend {
 public:
  SleepingDevice(double flops_per_second, bool resident)
      : flops_per_second_(flops_per_second), populate_(resident ? MAP_POPULATE : 0) {
    if (flops_per_second <= 0) fail("a device of {} FLOP/s: give it some", flops_per_second);
  }

  std::string name() const override { return "sleeping"; }
  std::string description() const override {
    return fmt::format("nothing is computed: a device of {:.3g} GFLOP/s, asleep",
                       flops_per_second_ / 1e9);
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

  void linear_forward(Stream stream, const device::LinearForward& op) override {
    spend(stream, 2 * product(op.x.rows, op.weight));
  }
  void linear_data_gradient(Stream stream, const device::LinearDataGradient& op) override {
    spend(stream, 2 * product(op.dy.rows, op.weight));
  }
  void linear_weight_gradient(Stream stream, const device::LinearWeightGradient& op) override {
    spend(stream, 2 * product(op.x.rows, op.d_weight));
  }
  void attention_forward(Stream stream, const device::AttentionForward& op) override {
    spend(stream, 4 * pairs(op.sequences) * static_cast<double>(op.context.cols));
  }
  void attention_backward(Stream stream, const device::AttentionBackward& op) override {
    spend(stream, 8 * pairs(op.sequences) * static_cast<double>(op.context.cols));
  }
  void classifier_loss(Stream stream, const device::ClassifierLoss& op) override {
    spend(stream, (op.d_x ? 6 : 2) * product(op.x.rows, op.weight));
  }

  void activation_backward(Stream, const device::ActivationBackward&) override {}
  void embeddings_forward(Stream, const device::EmbeddingsForward&) override {}
  void embeddings_backward(Stream, const device::EmbeddingsBackward&) override {}
  void residual_layernorm_forward(Stream, const device::ResidualLayerNormForward&) override {}
  void residual_layernorm_backward(Stream, const device::ResidualLayerNormBackward&) override {}
  void gather_rows(Stream, const device::GatherRows&) override {}
  void scatter_add_rows(Stream, const device::ScatterAddRows&) override {}
  void convert(Stream, const device::Convert&) override {}
  void l2_norm_squared(Stream, const device::L2NormSquared&) override {}
  void clip_to_norm(Stream, const device::ClipToNorm&) override {}
  void adam_update(Stream, const device::AdamUpdate&) override {}
  void lamb_direction(Stream, const device::LambDirection&) override {}
  void lamb_apply(Stream, const device::LambApply&) override {}
  void madgrad_update(Stream, const device::MadgradUpdate&) override {}
  void acclip_update(Stream, const device::AcClipUpdate&) override {}
  void fill_zero(Stream, void*, size_t) override {}

 private:
  // Multiply-adds of `rows` rows with a matrix of that shape.
  template <typename Matrix>
  static double product(int64_t rows, const Matrix& matrix) {
    return static_cast<double>(rows) * static_cast<double>(matrix.size());
  }
  // Of tokens of one sequence.
  static double pairs(const device::Sequences& sequences) {
    double sum = 0;
    for (int64_t i = 0; i < sequences.count; ++i) {
      const double length = sequences.cu_seqlens[i + 1] - sequences.cu_seqlens[i];
      sum += length * length;
    }
    return sum;
  }

  // One thread issues what is computed. Oversleeping is made up for by the operations after it;
  // what the thread does, or waits for, between two operations is not.
  void spend(Stream stream, double flops) {
    if (stream != Stream::kCompute) return;
    busy_until_ += Clock::now() - awake_since_;
    busy_until_ += std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(flops / flops_per_second_));
    std::this_thread::sleep_until(busy_until_);
    awake_since_ = Clock::now();
  }

  double flops_per_second_;
  int populate_;                              // a flag of mmap, or none
  std::unordered_map<void*, size_t> mapped_;  // bytes
  // As if this thread had always woken up in time; when it did, last.
  Clock::time_point busy_until_ = Clock::now(), awake_since_ = busy_until_;
};

}  // namespace

std::unique_ptr<device::Backend> make_sleeping_device(double flops_per_second, bool resident) {
  return std::make_unique<SleepingDevice>(flops_per_second, resident);
}

}  // namespace strata::bench
