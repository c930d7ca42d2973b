// A device whose streams run late and in any order that events allow.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/timing.h"
#include "device/backend.h"
#include "loadbalance/random.h"

namespace strata::testing_support {

// Captured work, to be issued again in this order.
using Tape = std::vector<std::function<void()>>;

// Work given to a stream, and events that it waits for.
class DeferredStream {
 public:
  void enqueue(std::function<void()> work) {
    if (!tape_) {
      items_.push_back({std::move(work), nullptr});
      return;
    }
    ++captured_;
    tape_->push_back([this, work] { enqueue(work); });
  }
  // Adds work that is retried until it returns true.
  void enqueue_until_done(std::function<bool()> work) {
    items_.push_back({nullptr, nullptr, std::move(work)});
  }
  // Sends later work to `tape`, or to the stream again if null.
  void capture_to(Tape* tape) {
    tape_ = tape;
    captured_ = 0;
  }
  bool captures() const { return tape_ != nullptr; }
  int captured() const { return captured_; }
  void wait_for(const bool* passed) { items_.push_back({nullptr, passed}); }
  bool empty() const { return items_.empty(); }
  bool blocked() const { return items_.front().waits_for && !*items_.front().waits_for; }
  void run_one() {
    if (items_.front().until_done && !items_.front().until_done()) return;
    const Item item = std::move(items_.front());
    items_.pop_front();
    if (item.work) item.work();
  }

 private:
  struct Item {
    std::function<void()> work;
    const bool* waits_for;
    std::function<bool()> until_done = nullptr;
  };
  std::deque<Item> items_;
  Tape* tape_ = nullptr;
  int captured_ = 0;
};

// Runs the operations of `inner`, a backend of host memory, when somebody synchronizes: each time
// the next item of a random stream that can proceed, chosen by `seed`. Copies read and write host
// memory when they run. Work can be captured. Throws Error for work that CUDA would refuse to
// capture, and for accesses outside of allocated memory. Not thread-safe.
class DeferredBackend : public device::Backend {
 public:
  DeferredBackend(device::Backend& inner, uint64_t seed) : inner_(inner), random_(seed) {}

  void enqueue(device::Stream s, std::function<void()> work) {
    if (capturing_ && !stream(s).captures())
      fail("a stream that waits for no captured work is given some");
    stream(s).enqueue(std::move(work));
  }

  int launches() const { return launches_; }

  std::string name() const override { return "deferred " + inner_.name(); }
  std::string description() const override { return inner_.description(); }
  device::DType compute_dtype() const override { return inner_.compute_dtype(); }
  device::DType master_dtype() const override { return inner_.master_dtype(); }
  bool memory_is_host() const override { return false; }
  bool supports(device::Operation operation, device::DType dtype) const override {
    return inner_.supports(operation, dtype);
  }
  int64_t autotune_row_granularity() const override { return inner_.autotune_row_granularity(); }
  // Sets a function that makes a rank's collectives on a stream.
  using MakeCollectives =
      std::function<std::unique_ptr<device::Collectives>(const device::RankGroup&, void* stream)>;
  void use_collectives(MakeCollectives make) { make_collectives_ = std::move(make); }
  bool has_collectives() const override { return make_collectives_ != nullptr; }
  std::unique_ptr<device::Collectives> make_collectives(const device::RankGroup& group,
                                                        device::Stream s) override {
    host_waits_ = group.waits;
    return make_collectives_(group, &stream(s));
  }

  void* allocate(size_t bytes) override {
    void* const memory = inner_.allocate(bytes);
    allocated_[static_cast<const char*>(memory)] = bytes;
    return memory;
  }
  void release(void* memory) override {
    allocated_.erase(static_cast<const char*>(memory));
    inner_.release(memory);
  }
  void copy_to_device(device::Stream s, void* to, const void* from, size_t bytes) override {
    check_inside(to, bytes);
    enqueue(s, [=, this] { inner_.copy_to_device(s, to, from, bytes); });
  }
  void* allocate_host(size_t bytes) override {
    void* const memory = Backend::allocate_host(bytes);
    pinned_[static_cast<const char*>(memory)] = bytes;
    return memory;
  }
  void release_host(void* memory) override {
    pinned_.erase(static_cast<const char*>(memory));
    Backend::release_host(memory);
  }
  // Number of copies to host memory from elsewhere than allocate_host(); on a GPU the host waits
  // for these.
  int pageable_copies() const { return pageable_copies_; }
  void copy_to_host(device::Stream s, void* to, const void* from, size_t bytes) override {
    check_inside(from, bytes);
    pageable_copies_ += lies_in(pinned_, to, bytes) ? 0 : 1;
    enqueue(s, [=, this] { inner_.copy_to_host(s, to, from, bytes); });
  }
  void fill_zero(device::Stream s, void* memory, size_t bytes) override {
    check_inside(memory, bytes);
    enqueue(s, [=, this] { inner_.fill_zero(s, memory, bytes); });
  }

  void store(device::Stream s, void* to, const void* from, size_t bytes) override {
    check_inside(to, bytes);
    const std::vector<char> values(static_cast<const char*>(from),
                                   static_cast<const char*>(from) + bytes);
    enqueue(s, [=, this] { inner_.copy_to_device(s, to, values.data(), bytes); });
  }

  device::Event record(device::Stream s) override {
    if (capturing_) return capturing_->record(s);
    bool& passed = passed_.emplace_back(false);
    enqueue(s, [&passed] { passed = true; });
    return passed_.size();
  }
  void wait(device::Stream s, device::Event event) override {
    if (event == 0) return;
    if (capturing_) return capturing_->wait(s, event);
    if (event >= kFirstCaptured) fail("a stream waits for a point that was only captured");
    stream(s).wait_for(&passed_[event - 1]);
  }
  void synchronize(device::Stream s) override {
    if (capturing_) fail("the host waits for work that is only captured");
    const device::HostWait wait(host_waits_.get(), "the collectives of its device");
    while (!stream(s).empty()) run_some_stream();
  }

  std::unique_ptr<device::Stopwatch> make_stopwatch() override {
    return std::make_unique<DeferredStopwatch>(*this);
  }

  std::unique_ptr<device::CapturedGraph> capture(const std::function<void()>& issue) override {
    auto graph = std::make_unique<Captured>(*this);
    graph->begin();
    try {
      issue();
      graph->check_joined();
    } catch (...) {
      graph->end();
      throw;
    }
    graph->end();
    return graph;
  }
  void outside_capture(const std::function<void()>& call) override {
    if (!capturing_) return call();
    capturing_->check_joined();
    capturing_->outside_capture(call);
  }

#define STRATA_LATER(function, Arguments, without)                        \
  void function(device::Stream s, const device::Arguments& op) override { \
    later(s, &Backend::function, without_sums(op));                       \
  }
  STRATA_OPERATIONS(STRATA_LATER)
#undef STRATA_LATER

 private:
  // Numbers of captured events, which stand for a new event in every launch.
  static constexpr device::Event kFirstCaptured = device::Event{1} << 32;

  class Captured final : public device::CapturedGraph {
   public:
    explicit Captured(DeferredBackend& backend) : backend_(backend) {}

    void begin() {
      backend_.capturing_ = this;
      backend_.stream(device::Stream::kCompute).capture_to(&tape_);
    }
    void end() {
      backend_.capturing_ = nullptr;
      for (DeferredStream& stream : backend_.streams_) stream.capture_to(nullptr);
    }
    device::Event record(device::Stream s) {
      if (!backend_.stream(s).captures())
        fail("a point is captured in a stream that captures nothing");
      const size_t number = points_.size();
      points_.push_back({s, backend_.stream(s).captured()});
      tape_.push_back([=, this] { points_[number].now = backend_.record(s); });
      return kFirstCaptured + number;
    }
    void wait(device::Stream s, device::Event event) {
      if (event < kFirstCaptured) fail("captured work waits for a point from before");
      const Point& point = points_[event - kFirstCaptured];
      if (!backend_.stream(s).captures()) backend_.stream(s).capture_to(&tape_);
      if (s == device::Stream::kCompute) {
        int& joined = joined_[static_cast<size_t>(point.stream)];
        joined = std::max(joined, point.after);
      }
      tape_.push_back([=, this] { backend_.wait(s, points_[event - kFirstCaptured].now); });
    }
    void outside_capture(const std::function<void()>& call) { tape_.push_back(call); }
    void check_joined() const {
      for (const device::Stream s : {device::Stream::kReduce, device::Stream::kCopy,
                                     device::Stream::kSend, device::Stream::kReceive}) {
        if (joined_[static_cast<size_t>(s)] < backend_.stream(s).captured()) {
          fail("captured work of a stream is never waited for");
        }
      }
    }
    void launch() override {
      ++backend_.launches_;
      for (const auto& issue : tape_) issue();
      backend_.wait(device::Stream::kReduce, backend_.record(device::Stream::kCompute));
    }

   private:
    struct Point {
      device::Stream stream;
      int after;  // number of the stream's captured operations before the point
      device::Event now = 0;
    };
    DeferredBackend& backend_;
    Tape tape_;
    std::vector<Point> points_;
    std::array<int, device::kStreams> joined_{};
  };

  class DeferredStopwatch final : public device::Stopwatch {
   public:
    explicit DeferredStopwatch(DeferredBackend& backend) : backend_(backend) {}

    size_t mark(device::Stream s) override {
      if (backend_.capturing_) fail("a mark within captured work");
      int64_t& time = times_.emplace_back(kNotYet);
      backend_.enqueue(s, [&time] { time = nanoseconds(Clock::now()); });
      return times_.size() - 1;
    }
    std::vector<int64_t> read() override {
      while (std::ranges::find(times_, kNotYet) != times_.end()) backend_.run_some_stream();
      std::vector<int64_t> times(times_.begin(), times_.end());
      times_.clear();
      return times;
    }

   private:
    static constexpr int64_t kNotYet = -1;
    DeferredBackend& backend_;
    std::deque<int64_t> times_;
  };

  using Allocations = std::map<const char*, size_t>;

  static bool lies_in(const Allocations& allocations, const void* memory, size_t bytes) {
    const auto* const begin = static_cast<const char*>(memory);
    const auto behind = allocations.upper_bound(begin);
    return behind != allocations.begin() &&
           begin + bytes <= std::prev(behind)->first + std::prev(behind)->second;
  }
  void check_inside(const void* memory, size_t bytes) const {
    if (bytes > 0 && !lies_in(allocated_, memory, bytes)) {
      fail("{} bytes lie outside the device memory that was taken", bytes);
    }
  }

  DeferredStream& stream(device::Stream s) { return streams_[static_cast<size_t>(s)]; }

  // At the time of the call, it is not known whether optional sums would be computed.
  template <typename Op>
  static Op without_sums(Op op) {
    if constexpr (requires { op.dx_sums; }) op.dx_sums = {};
    if constexpr (requires { op.d_x_sums; }) op.d_x_sums = {};
    return op;
  }

  template <typename Operation>
  void later(device::Stream s, void (Backend::*run)(device::Stream, const Operation&),
             const Operation& op) {
    enqueue(s, [=, this] { (inner_.*run)(s, op); });
  }

  void run_some_stream() {
    std::vector<DeferredStream*> ready;
    for (DeferredStream& candidate : streams_) {
      if (!candidate.empty() && !candidate.blocked()) ready.push_back(&candidate);
    }
    if (ready.empty()) fail("the streams wait for each other for ever");
    ready[random_.below(static_cast<uint32_t>(ready.size()))]->run_one();
  }

  MakeCollectives make_collectives_;
  std::shared_ptr<device::HostWaits> host_waits_;
  device::Backend& inner_;
  Captured* capturing_ = nullptr;
  int launches_ = 0;
  std::array<DeferredStream, device::kStreams> streams_;
  std::deque<bool> passed_;  // one per event, in order
  Allocations allocated_, pinned_;
  int pageable_copies_ = 0;
  loadbalance::Random random_;
};

}  // namespace strata::testing_support
