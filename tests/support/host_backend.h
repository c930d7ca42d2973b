// A backend of plain loops over host memory, of either master dtype, that knows only what gradient
// buckets need: memory, conversion, norms, clipping and rows, computed in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <string>

#include "base/error.h"
#include "device/backend.h"
#include "tests/support/elements.h"

namespace strata::testing_support {

class HostBackend : public device::Backend {
 public:
  // `memory_is_host` false: as if it were a device's.
  explicit HostBackend(device::DType master = device::DType::kF32, bool memory_is_host = true)
      : master_(master), memory_is_host_(memory_is_host) {}

  std::string name() const override { return "host"; }
  std::string description() const override { return "plain loops"; }
  device::DType compute_dtype() const override { return device::DType::kBF16; }
  device::DType master_dtype() const override { return master_; }
  bool memory_is_host() const override { return memory_is_host_; }

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
    const device::Tensor& to = op.destination ? op.destination : op.x;
    for (int64_t i = 0; i < op.x.size(); ++i) set_element(to, i, scale * element(op.x, i));
  }
  void gather_rows(device::Stream, const device::GatherRows& op) override {
    for (int64_t i = 0; i < op.y.size(); ++i) {
      const int64_t row = op.rows[i / op.y.cols];
      set_element(op.y, i, row < 0 ? 0.0 : element(op.x, row * op.y.cols + i % op.y.cols));
    }
  }
  void scatter_add_rows(device::Stream, const device::ScatterAddRows& op) override {
    for (int64_t i = 0; i < op.dy.size(); ++i) {
      const int64_t row = op.rows[i / op.dy.cols];
      if (row < 0) continue;
      const int64_t place = row * op.dy.cols + i % op.dy.cols;
      set_element(op.dx, place, element(op.dx, place) + element(op.dy, i));
    }
  }
  void adam_update(device::Stream, const device::AdamUpdate&) override { unsupported(); }
  void lamb_direction(device::Stream, const device::LambDirection&) override { unsupported(); }
  void lamb_apply(device::Stream, const device::LambApply&) override { unsupported(); }
  void round_to_float8(device::Stream, const device::RoundToFloat8&) override { unsupported(); }
  void float8_update(device::Stream, const device::Float8Update&) override { unsupported(); }
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
  void classifier_loss(device::Stream, const device::ClassifierLoss&) override { unsupported(); }

 private:
  [[noreturn]] static void unsupported() {
    fail("the host test backend knows only what gradient buckets need");
  }

  device::DType master_;
  bool memory_is_host_;
};

}  // namespace strata::testing_support
