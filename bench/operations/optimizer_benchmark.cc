#include "bench/operations/optimizer_benchmark.h"

#include <algorithm>
#include <random>
#include <vector>

#include "base/error.h"
#include "base/timing.h"
#include "bert/parameters/parameters.h"
#include "device/cpu/flat/plain_pass.h"
#include "device/memory/buffer.h"
#include "device/registry/backends.h"
#include "training/factories/backend.h"
#include "training/factories/model.h"
#include "training/factories/optimizer.h"
#include "training/trainer.h"

namespace strata::bench {
namespace {

using device::Buffer;
using device::Stream;
using device::Tensor;

constexpr int64_t kMaster = sizeof(float);  // bytes per element of weights, gradients and moments

// Returns the bytes per element of the compute weights, or 0 if compute reads the master weights.
int64_t compute_size(const device::Backend& backend) {
  return backend.compute_dtype() == backend.master_dtype()
             ? 0
             : static_cast<int64_t>(size_of(backend.compute_dtype()));
}

int64_t memory_of(const config::RunConfig& config, const device::Backend& backend,
                  int64_t parameters) {
  const int arrays = 2 + training::state_per_weight(config.optimizer.name);
  return parameters * (arrays * kMaster + compute_size(backend));
}

std::unique_ptr<device::Backend> make_cpu_backend(const config::RunConfig& config) {
  if (config.device.backend != &device::find_backend("cpu")) {
    fail(
        "device.backend={}: the optimizer's bandwidth is measured on cpu only; set device.backend "
        "to cpu",
        config.device.backend->name);
  }
  return training::make_backend(config);
}

// The arrays of an arena, its optimizer, and both measured passes.
class Passes {
 public:
  Passes(const config::RunConfig& config, const bert::ParameterLayout& layout,
         device::Backend& backend)
      : backend_(backend),
        threads_(training::thread_count(config)),
        size_(layout.size),
        weights_(backend, static_cast<size_t>(size_ * kMaster)),
        gradients_(backend, static_cast<size_t>(size_ * kMaster)),
        compute_weights_(backend, static_cast<size_t>(size_ * compute_size(backend))),
        norm_(backend, sizeof(double)),
        arena_{Tensor{weights_.data(), backend.master_dtype(), 1, size_},
               {},
               Tensor{gradients_.data(), backend.master_dtype(), 1, size_}} {
    if (compute_size(backend) > 0) {
      arena_.compute_weights = Tensor{compute_weights_.data(), backend.compute_dtype(), 1, size_};
    }
    optimizer_ = training::make_optimizer(config.optimizer, backend, layout, arena_);
    const bool lamb = config.optimizer.name == config::OptimizerKind::kLamb;
    for (const bert::ParameterSegment& segment : layout.segments()) {
      lamb&& segment.decay ? add_lamb_passes(segment) : add_single_pass(segment);
    }
    fill_weights();
  }

  int64_t update_bytes() const { return update_bytes_; }

  void make_gradients() {
    backend_.convert(Stream::kCompute, {arena_.weights.memory(), 0.01f, gradients()});
  }

  double norm_seconds() {
    backend_.fill_zero(Stream::kCompute, norm_.data(), sizeof(double));
    return timed([&] {
      backend_.l2_norm_squared(Stream::kCompute, {gradients(), norm_.as<double>()});
    });
  }

  double update_seconds() {
    optimizer_->begin_step(Stream::kCompute, ++step_, 1e-6);
    return timed([&] {
      optimizer_->update(Stream::kCompute, {0, size_}, {.norm_squared = norm_.as<double>()});
    });
  }

  double plain_seconds() {
    return timed([&] {
      for (const Plain& plain : plain_)
        device::cpu::run_plain_pass(threads_, plain.size, plain.pass);
    });
  }

 private:
  struct Plain {
    int64_t size = 0;
    device::cpu::PlainPass pass;
  };

  const Tensor& gradients() const { return arena_.gradients.memory(); }

  template <typename Work>
  double timed(const Work& work) {
    const auto begin = Clock::now();
    work();
    backend_.synchronize(Stream::kCompute);
    return seconds_since(begin);
  }

  float* at(const Tensor& tensor, int64_t offset) const { return tensor.as<float>() + offset; }
  // Returns null if there is no such array.
  float* state(size_t which, int64_t offset) const {
    const auto tensors = optimizer_->state();
    return which < tensors.size() ? at(tensors[which].tensor, offset) : nullptr;
  }
  uint16_t* compute(int64_t offset) const {
    return arena_.compute_weights ? arena_.compute_weights.memory().as<uint16_t>() + offset
                                  : nullptr;
  }

  // Adds one pass over neighbouring tensors, even if the optimizer needs two because only one
  // decays.
  void add_single_pass(const bert::ParameterSegment& s) {
    // A pass reads weights, gradients and state, and writes weights and the first two arrays of
    // state.
    const size_t states = optimizer_->state().size();
    const size_t passes = 3 + states + std::min<size_t>(states, 2);
    update_bytes_ += s.size * (static_cast<int64_t>(passes) * kMaster + compute_size(backend_));
    if (single_pass_end_ == s.offset && !plain_.empty()) {
      plain_.back().size += s.size;
    } else {
      plain_.push_back({s.size,
                        {.modified = {at(arena_.weights.memory(), s.offset), state(0, s.offset),
                                      state(1, s.offset)},
                         .read = at(gradients(), s.offset),
                         .also_read = state(2, s.offset),
                         .written = compute(s.offset)}});
    }
    single_pass_end_ = s.offset + s.size;
  }

  // Runs both halves tensor by tensor, so that the second finds the same data in the caches.
  void add_lamb_passes(const bert::ParameterSegment& s) {
    update_bytes_ += s.size * (7 * kMaster + 3 * kMaster + compute_size(backend_));
    plain_.push_back(
        {s.size,
         {.modified = {at(gradients(), s.offset), state(0, s.offset), state(1, s.offset)},
          .read = at(arena_.weights.memory(), s.offset)}});
    plain_.push_back({s.size,
                      {.modified = {at(arena_.weights.memory(), s.offset)},
                       .read = at(gradients(), s.offset),
                       .written = compute(s.offset)}});
  }

  // Fills weights with different values of the usual size.
  void fill_weights() {
    std::vector<float> values(static_cast<size_t>(std::min<int64_t>(size_, 1 << 20)));
    std::minstd_rand random(1);
    std::uniform_real_distribution<float> uniform(-0.05f, 0.05f);
    std::generate(values.begin(), values.end(), [&] { return uniform(random); });
    for (int64_t begin = 0; begin < size_; begin += std::ssize(values)) {
      const int64_t count = std::min(std::ssize(values), size_ - begin);
      backend_.copy_to_device(Stream::kCompute, at(arena_.weights.memory(), begin), values.data(),
                              static_cast<size_t>(count * kMaster));
    }
  }

  device::Backend& backend_;
  int threads_;
  int64_t size_;
  Buffer weights_, gradients_, compute_weights_, norm_;
  optim::ParameterArena arena_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::vector<Plain> plain_;
  int64_t single_pass_end_ = 0;
  int64_t update_bytes_ = 0;
  int64_t step_ = 0;
};

}  // namespace

OptimizerBenchmark benchmark_optimizer(const config::RunConfig& config, int rounds,
                                       const std::function<void(int)>& on_round) {
  const auto backend = make_cpu_backend(config);
  const bert::ParameterLayout layout(training::make_bert_config(config));
  Passes passes(config, layout, *backend);
  std::vector<double> norm, update, both, plain;
  for (int round = -1; round < rounds; ++round) {  // the first is not measured
    passes.make_gradients();
    // The two take turns, so that neither always finds what the other left in the caches.
    const bool plain_first = round % 2 != 0;
    const double plain_before = plain_first ? passes.plain_seconds() : 0;
    const double norm_seconds = passes.norm_seconds();
    const double update_seconds = passes.update_seconds();
    const double plain_seconds = plain_first ? plain_before : passes.plain_seconds();
    if (round < 0) continue;
    norm.push_back(norm_seconds);
    update.push_back(update_seconds);
    both.push_back(norm_seconds + update_seconds);
    plain.push_back(plain_seconds);
    if (on_round) on_round(round + 1);
  }
  return {.device = backend->description(),
          .parameters = layout.size,
          .memory_bytes = memory_of(config, *backend, layout.size),
          .update_bytes = passes.update_bytes(),
          .norm = median(norm),
          .update = median(update),
          .norm_and_update = median(both),
          .plain = median(plain)};
}

int64_t optimizer_benchmark_bytes(const config::RunConfig& config) {
  return memory_of(config, *make_cpu_backend(config),
                   bert::ParameterLayout(training::make_bert_config(config)).size);
}

}  // namespace strata::bench
