#include "device/cpu/cpu_backend.h"

#include <omp.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "device/cpu/matmul.h"
#include "device/cpu/operations.h"

namespace strata::device::cpu {
namespace {

// Every operation finishes before it returns, so events are always passed. Streams differ only in
// their scratch memory, which is what lets different threads use different streams at once.
template <typename T>
class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(int threads) : kernels_(kernels_for_this_cpu()), threads_(threads) {}

  std::string name() const override { return "cpu"; }
  std::string description() const override {
    return fmt::format("cpu, {} thread{}, {} kernels, {} products by oneDNN", threads_,
                       threads_ == 1 ? "" : "s", kernels_.instruction_set,
                       name_of(compute_dtype()));
  }
  DType compute_dtype() const override { return dtype_of<T>(); }
  DType master_dtype() const override { return DType::kF32; }

  void* allocate(size_t bytes) override {
    const size_t rounded = std::max<size_t>((bytes + 63) / 64 * 64, 64);
    void* memory = std::aligned_alloc(64, rounded);
    if (!memory)
      fail("cannot allocate {} MiB of memory; use a smaller model or micro-batch", bytes >> 20);
    std::memset(memory, 0, rounded);
    return memory;
  }
  void release(void* memory) override { std::free(memory); }
  void copy_to_device(Stream, void* device, const void* host, size_t bytes) override {
    if (bytes > 0) std::memcpy(device, host, bytes);
  }
  void copy_to_host(Stream, void* host, const void* device, size_t bytes) override {
    if (bytes > 0) std::memcpy(host, device, bytes);
  }
  void fill_zero(Stream, void* device, size_t bytes) override { std::memset(device, 0, bytes); }

  Event record(Stream) override { return 0; }
  void wait(Stream, Event) override {}
  void synchronize(Stream) override {}

  using Ops = Operations<T>;
  void linear_forward(Stream s, const LinearForward& op) override {
    Ops::linear_forward(on(s), op);
  }
  void linear_data_gradient(Stream s, const LinearDataGradient& op) override {
    Ops::linear_data_gradient(on(s), op);
  }
  void linear_weight_gradient(Stream s, const LinearWeightGradient& op) override {
    Ops::linear_weight_gradient(on(s), op);
  }
  void activation_backward(Stream s, const ActivationBackward& op) override {
    Ops::activation_backward(on(s), op);
  }
  void attention_forward(Stream s, const AttentionForward& op) override {
    Ops::attention_forward(on(s), op);
  }
  void attention_backward(Stream s, const AttentionBackward& op) override {
    Ops::attention_backward(on(s), op);
  }
  void residual_layernorm_forward(Stream s, const ResidualLayerNormForward& op) override {
    Ops::residual_layernorm_forward(on(s), op);
  }
  void residual_layernorm_backward(Stream s, const ResidualLayerNormBackward& op) override {
    Ops::residual_layernorm_backward(on(s), op);
  }
  void embeddings_forward(Stream s, const EmbeddingsForward& op) override {
    Ops::embeddings_forward(on(s), op);
  }
  void embeddings_backward(Stream s, const EmbeddingsBackward& op) override {
    Ops::embeddings_backward(on(s), op);
  }
  void gather_rows(Stream s, const GatherRows& op) override { Ops::gather_rows(on(s), op); }
  void scatter_add_rows(Stream s, const ScatterAddRows& op) override {
    Ops::scatter_add_rows(on(s), op);
  }
  void classifier_loss(Stream s, const ClassifierLoss& op) override {
    Ops::classifier_loss(on(s), op);
  }
  void convert(Stream s, const Convert& op) override { cpu::convert(on(s), op); }
  void l2_norm_squared(Stream s, const L2NormSquared& op) override {
    cpu::l2_norm_squared(on(s), op);
  }
  void clip_to_norm(Stream s, const ClipToNorm& op) override { cpu::clip_to_norm(on(s), op); }
  void adam_update(Stream s, const AdamUpdate& op) override { cpu::adam_update(on(s), op); }
  void lamb_direction(Stream s, const LambDirection& op) override {
    cpu::lamb_direction(on(s), op);
  }
  void lamb_apply(Stream s, const LambApply& op) override { cpu::lamb_apply(on(s), op); }

 private:
  // OpenMP keeps its thread count per calling thread; oneDNN reads it.
  Context on(Stream stream) {
    if (omp_get_max_threads() != threads_) omp_set_num_threads(threads_);
    return {kernels_, threads_, scratch_[static_cast<size_t>(stream)]};
  }

  const VectorKernels& kernels_;
  int threads_;
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
      if (const std::string_view reason = bf16_unavailable_reason(); !reason.empty())
        fail("{}", reason);
      return std::make_unique<CpuBackend<uint16_t>>(threads);
    case DType::kF64:
      break;
  }
  fail("the cpu backend computes in f32 or bf16, not f64; the reference backend does");
}

}  // namespace strata::device::cpu
