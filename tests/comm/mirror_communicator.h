// A communicator for tests of several ranks in one process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "comm/communicator.h"
#include "tests/support/host_backend.h"

namespace strata::comm {

// Emulates two ranks in one process: the other rank has the same data. Reports every all-reduce.
class MirrorCommunicator : public Communicator {
 public:
  using Hook = std::function<void(int64_t count)>;
  explicit MirrorCommunicator(Hook hook = [](int64_t) {}) : hook_(std::move(hook)) {}

  int rank() const override { return 0; }
  int size() const override { return 2; }
  void all_reduce_sum(void* data, int64_t count, device::DType dtype) override {
    hook_(count);
    const device::Tensor values{data, dtype, 1, count};
    for (int64_t i = 0; i < count; ++i) {
      testing_support::set_element(values, i, 2 * testing_support::element(values, i));
    }
  }
  // Half of an all-reduce: computes the first rank's shard.
  void reduce_scatter_sum(void* data, int64_t count, device::DType dtype) override {
    all_reduce_sum(data, shard_of(count, rank(), size()).end, dtype);
  }
  void all_gather(void* data, int64_t count, device::DType dtype) override {
    const device::Tensor values{data, dtype, 1, count};
    const Range other = shard_of(count, 1, size());
    for (int64_t i = other.begin; i < other.end; ++i) testing_support::set_element(values, i, 7);
  }
  void all_reduce_sum(std::span<int64_t> values) override {
    for (int64_t& value : values) value *= 2;
  }
  void all_reduce_max(std::span<float>) override {}
  void broadcast(void*, size_t, int) override {}
  void barrier() override {}
  std::unique_ptr<Communicator> duplicate() override {
    return std::make_unique<MirrorCommunicator>(hook_);
  }

 private:
  Hook hook_;
};

}  // namespace strata::comm
