// A backend of plain loops over host memory that knows only what optimizers and gradient buckets
// need: memory, conversion, norms, clipping and Adam, computed in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <string>

#include "base/error.h"
#include "device/backend.h"

namespace strata::testing_support {

inline double element(const device::ConstTensor& tensor, int64_t i) {
  switch (tensor.dtype) {
    case device::DType::kF64:
      return tensor.as<double>()[i];
    case device::DType::kF32:
      return tensor.as<float>()[i];
    case device::DType::kBF16:
      return tensor.as<device::BFloat16>()[i];
  }
  fail("unknown dtype");
}

inline void set_element(const device::Tensor& tensor, int64_t i, double value) {
  switch (tensor.dtype) {
    case device::DType::kF64:
      tensor.as<double>()[i] = value;
      return;
    case device::DType::kF32:
      tensor.as<float>()[i] = static_cast<float>(value);
      return;
    case device::DType::kBF16:
      tensor.as<device::BFloat16>()[i] = static_cast<float>(value);
      return;
  }
}

class HostBackend : public device::Backend {
 public:
  explicit HostBackend(device::DType master = device::DType::kF32) : master_(master) {}

  std::string name() const override { return "host"; }
  std::string description() const override { return "plain loops"; }
  device::DType compute_dtype() const override { return device::DType::kBF16; }
  device::DType master_dtype() const override { return master_; }

  void* allocate(size_t bytes) override {
    void* memory = ::operator new (bytes, std::align_val_t{64});
    std::memset(memory, 0, bytes);
    return memory;
  }
  void release(void* memory) override { ::operator delete (memory, std::align_val_t{64}); }
  void copy_to_device(device::Stream, void* to, const void* from, size_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  void copy_to_host(device::Stream, void* to, const void* from, size_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  void fill_zero(device::Stream, void* memory, size_t bytes) override {
    std::memset(memory, 0, bytes);
  }
  device::Event record(device::Stream) override { return 0; }
  void wait(device::Stream, device::Event) override {}
  void synchronize(device::Stream) override {}

  void convert(device::Stream, const device::Convert& op) override {
    for (int64_t i = 0; i < op.source.size(); ++i) {
      set_element(op.destination, i, op.scale * element(op.source, i));
    }
  }
  void l2_norm_squared(device::Stream, const device::L2NormSquared& op) override {
    for (int64_t i = 0; i < op.x.size(); ++i) {
      *op.norm_squared += element(op.x, i) * element(op.x, i);
    }
  }
  void clip_to_norm(device::Stream, const device::ClipToNorm& op) override {
    const double scale = std::min(1.0, op.max_norm / std::sqrt(*op.norm_squared));
    for (int64_t i = 0; i < op.x.size(); ++i) set_element(op.x, i, scale * element(op.x, i));
  }
  void adam_update(device::Stream, const device::AdamUpdate& op) override {
    double scale = op.gradient_scale;
    if (op.norm_squared) scale *= std::min(1.0, op.max_norm / std::sqrt(*op.norm_squared));
    const double correction1 = 1 - std::pow(double{op.beta1}, op.step);
    const double correction2 = 1 - std::pow(double{op.beta2}, op.step);
    for (int64_t i = 0; i < op.weights.size(); ++i) {
      const double g = scale * element(op.gradients, i);
      const double m = op.beta1 * element(op.first_moment, i) + (1.0 - op.beta1) * g;
      const double v = op.beta2 * element(op.second_moment, i) + (1.0 - op.beta2) * g * g;
      const double w = element(op.weights, i);
      const double u = m / correction1 / (std::sqrt(v / correction2) + op.epsilon);
      set_element(op.first_moment, i, m);
      set_element(op.second_moment, i, v);
      set_element(op.weights, i, w - op.learning_rate * (u + op.weight_decay * w));
      if (op.compute_weights) set_element(op.compute_weights, i, element(op.weights, i));
      set_element(op.gradients, i, 0);
    }
  }

  void linear_forward(device::Stream, const device::LinearForward&) override { unsupported(); }
  void linear_data_gradient(device::Stream, const device::LinearDataGradient&) override {
    unsupported();
  }
  void linear_weight_gradient(device::Stream, const device::LinearWeightGradient&) override {
    unsupported();
  }
  void activation_backward(device::Stream, const device::ActivationBackward&) override {
    unsupported();
  }
  void attention_forward(device::Stream, const device::AttentionForward&) override {
    unsupported();
  }
  void attention_backward(device::Stream, const device::AttentionBackward&) override {
    unsupported();
  }
  void residual_layernorm_forward(device::Stream,
                                  const device::ResidualLayerNormForward&) override {
    unsupported();
  }
  void residual_layernorm_backward(device::Stream,
                                   const device::ResidualLayerNormBackward&) override {
    unsupported();
  }
  void embeddings_forward(device::Stream, const device::EmbeddingsForward&) override {
    unsupported();
  }
  void embeddings_backward(device::Stream, const device::EmbeddingsBackward&) override {
    unsupported();
  }
  void gather_rows(device::Stream, const device::GatherRows&) override { unsupported(); }
  void scatter_add_rows(device::Stream, const device::ScatterAddRows&) override { unsupported(); }
  void classifier_loss(device::Stream, const device::ClassifierLoss&) override { unsupported(); }

 private:
  [[noreturn]] static void unsupported() { fail("the host test backend has no model operations"); }

  device::DType master_;
};

}  // namespace strata::testing_support
