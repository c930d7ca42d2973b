// A backend of plain f64 loops over host memory, with either master dtype and only the operations
// that gradient buckets need: memory, conversion, norms, clipping and rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "device/plain/host_memory_backend.h"
#include "tests/support/elements.h"

namespace strata::testing_support {

class HostBackend : public device::HostMemoryBackend {
 public:
  // `memory_is_host` false: pretends to be device memory.
  explicit HostBackend(device::DType master = device::DType::kF32, bool memory_is_host = true)
      : master_(master), memory_is_host_(memory_is_host) {}

  std::string name() const override { return "host"; }
  std::string description() const override { return "plain loops"; }
  device::DType compute_dtype() const override { return device::DType::kBF16; }
  device::DType master_dtype() const override { return master_; }
  bool memory_is_host() const override { return memory_is_host_; }

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

 private:
  device::DType master_;
  bool memory_is_host_;
};

}  // namespace strata::testing_support
