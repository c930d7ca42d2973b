// A backend whose streams run late and in any order that events allow, as a device's may.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <vector>

#include "loadbalance/random.h"
#include "tests/support/host_backend.h"

namespace strata::testing_support {

// Work given to a stream, and points in other streams that it waits for.
class DeferredStream {
 public:
  void enqueue(std::function<void()> work) { items_.push_back({std::move(work), nullptr}); }
  void wait_for(const bool* passed) { items_.push_back({nullptr, passed}); }
  bool empty() const { return items_.empty(); }
  bool blocked() const { return items_.front().waits_for && !*items_.front().waits_for; }
  void run_one() {
    const Item item = std::move(items_.front());
    items_.pop_front();
    if (item.work) item.work();
  }

 private:
  struct Item {
    std::function<void()> work;
    const bool* waits_for;
  };
  std::deque<Item> items_;
};

// HostBackend's operations, run when somebody synchronizes: always the next item of some stream
// that can go on, chosen by `seed`.
class DeferredBackend : public HostBackend {
 public:
  DeferredBackend(device::DType master, uint64_t seed)
      : HostBackend(master, false), random_(seed) {}

  void enqueue(device::Stream s, std::function<void()> work) { stream(s).enqueue(std::move(work)); }

  void* native_stream(device::Stream s) override { return &stream(s); }
  void copy_to_device(device::Stream s, void* to, const void* from, size_t bytes) override {
    enqueue(s, [=, this] { HostBackend::copy_to_device(s, to, from, bytes); });
  }
  void copy_to_host(device::Stream s, void* to, const void* from, size_t bytes) override {
    enqueue(s, [=, this] { HostBackend::copy_to_host(s, to, from, bytes); });
  }
  void fill_zero(device::Stream s, void* memory, size_t bytes) override {
    enqueue(s, [=, this] { HostBackend::fill_zero(s, memory, bytes); });
  }
  void convert(device::Stream s, const device::Convert& op) override {
    enqueue(s, [=, this] { HostBackend::convert(s, op); });
  }
  void l2_norm_squared(device::Stream s, const device::L2NormSquared& op) override {
    enqueue(s, [=, this] { HostBackend::l2_norm_squared(s, op); });
  }
  void clip_to_norm(device::Stream s, const device::ClipToNorm& op) override {
    enqueue(s, [=, this] { HostBackend::clip_to_norm(s, op); });
  }

  device::Event record(device::Stream s) override {
    bool& passed = passed_.emplace_back(false);
    enqueue(s, [&passed] { passed = true; });
    return passed_.size();
  }
  void wait(device::Stream s, device::Event event) override {
    if (event > 0) stream(s).wait_for(&passed_[event - 1]);
  }
  void synchronize(device::Stream s) override {
    while (!stream(s).empty()) run_some_stream();
  }

 private:
  DeferredStream& stream(device::Stream s) { return streams_[static_cast<size_t>(s)]; }

  void run_some_stream() {
    std::vector<DeferredStream*> ready;
    for (DeferredStream& candidate : streams_) {
      if (!candidate.empty() && !candidate.blocked()) ready.push_back(&candidate);
    }
    if (ready.empty()) fail("the streams wait for each other for ever");
    ready[random_.below(static_cast<uint32_t>(ready.size()))]->run_one();
  }

  std::array<DeferredStream, 3> streams_;
  std::deque<bool> passed_;  // of every event, in order
  loadbalance::Random random_;
};

}  // namespace strata::testing_support
