#include <algorithm>
#include <array>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/threads/start_thread.h"
#include "base/timing.h"
#include "comm/order/executor.h"

namespace strata::comm {
namespace {

using device::Stream;

int64_t now_ns() { return nanoseconds(Clock::now()); }

// Operations of these lanes run on the device, the others on the host.
bool is_on_device(Lane lane) { return lane == Lane::kCompute || lane == Lane::kArithmetic; }
Stream stream_of(Lane lane) {
  return lane == Lane::kArithmetic ? Stream::kReduce : Stream::kCompute;
}

class ThreadExecutor final : public Executor {
 public:
  explicit ThreadExecutor(device::Backend& backend) : backend_(backend) {}
  ~ThreadExecutor() override { stop(); }

  void begin(const OperationList& list) override {
    start_threads(list);
    const std::vector<int>& gathers = list.lane(Lane::kGathers);
    if (!gathers.empty() && list[gathers.front()].after.empty()) {
      backend_.synchronize(Stream::kCompute);
    }
    const std::lock_guard lock(mutex_);
    list_ = &list;
    left_ = list.size();
    missing_.clear();
    for (const Operation& operation : list.operations()) {
      missing_.push_back(static_cast<int>(operation.after.size()));
    }
    done_at_.resize(std::max(done_at_.size(), missing_.size()));
    for (LaneState& lane : lanes_) lane.first = 0;
    times_.clear();
    times_.reserve(missing_.size());
    notify_all();  // some operations have no dependencies
  }

  void run(int first, int end) override {
    for (int place = first; place < end; ++place) {
      const Operation& operation = (*list_)[place];
      if (!operation.run || !is_callers(operation.lane)) continue;
      {
        std::unique_lock lock(mutex_);
        wait(lock, [&] { return missing_[static_cast<size_t>(place)] == 0; });
      }
      guarded([&] { perform(place); });
      const std::lock_guard lock(mutex_);
      if (error_) std::rethrow_exception(error_);
      mark_done(place);
    }
  }

  void complete(int operation) override {
    note_on_device(operation);
    const std::lock_guard lock(mutex_);
    if (!error_) mark_done(operation);
  }

  void wait_for(int operation) override {
    {
      std::unique_lock lock(mutex_);
      wait(lock, [&] { return missing_[static_cast<size_t>(operation)] == kDone; });
    }
    backend_.wait(Stream::kCompute, done_at_[static_cast<size_t>(operation)]);
  }

  // Backward has ended, so the caller and all of the device's threads are free to help.
  StepTimes finish() override {
    const int64_t wait_begin = now_ns();
    {
      std::unique_lock lock(mutex_);
      caller_helps_ = true;
      wait(lock, [&] { return left_ == 0; });
      caller_helps_ = false;
    }
    backend_.synchronize(Stream::kReduce);
    std::swap(times_, finished_times_);
    return step_times(finished_times_, wait_begin, now_ns());
  }

  void time_steps(bool) override {}  // always timed
  const std::vector<OperationTime>& times() const override { return finished_times_; }

 private:
  // Values of missing_ for operations that have begun or are done.
  static constexpr int kBegun = -1, kDone = -2;

  struct LaneState {
    std::thread thread;  // not joinable for the caller's lanes
    size_t first = 0;    // position in the lane before which all operations have begun
    bool busy = false;
    std::condition_variable changed;  // wakes the lane's thread
  };
  LaneState& state(Lane lane) { return lanes_[static_cast<size_t>(lane)]; }
  // True if the caller works on the lane instead of the lane's thread.
  bool is_helped(Lane lane) const {
    return lane == Lane::kArithmetic && (caller_helps_ || list_->lane(Lane::kCollectives).empty());
  }
  bool has_thread(Lane lane) const { return lanes_[static_cast<size_t>(lane)].thread.joinable(); }

  void start_threads(const OperationList& list) {
    try {
      if (!list.lane(Lane::kCollectives).empty()) {
        start(Lane::kArithmetic);
        start(Lane::kCollectives);
      }
      if (!list.lane(Lane::kGathers).empty()) start(Lane::kGathers);
    } catch (...) {
      stop();
      throw;
    }
  }
  void start(Lane lane) {
    if (has_thread(lane)) return;
    state(lane).thread = start_thread("cannot start a thread that reduces gradients",
                                      [this, lane] { guarded([&] { loop(lane); }); });
  }
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    notify_all();
    for (LaneState& lane : lanes_) {
      if (lane.thread.joinable()) lane.thread.join();
    }
  }
  void notify_all() {
    for (LaneState& lane : lanes_) lane.changed.notify_all();
  }

  void loop(Lane lane) {
    for (;;) {
      int place = -1;
      {
        std::unique_lock lock(mutex_);
        state(lane).changed.wait(lock, [&] {
          if (!stop_ && list_ && !is_helped(lane)) place = take(lane);
          return stop_ || place >= 0;
        });
        if (stop_) return;
      }
      perform(place);
      const std::lock_guard lock(mutex_);
      state(lane).busy = false;
      mark_done(place);
    }
  }

  // Blocks the caller until `done` or an error in any lane, which it rethrows. Meanwhile the caller
  // runs kArithmetic if it helps. Requires `lock` to be held, and returns with it held.
  template <typename Done>
  void wait(std::unique_lock<std::mutex>& lock, const Done& done) {
    while (!error_ && !done()) {
      const int place = is_helped(Lane::kArithmetic) ? take(Lane::kArithmetic) : -1;
      if (place < 0) {
        state(Lane::kCompute).changed.wait(lock);
        continue;
      }
      lock.unlock();
      guarded([&] { perform(place); });
      lock.lock();
      state(Lane::kArithmetic).busy = false;
      if (!error_) mark_done(place);
    }
    if (error_) std::rethrow_exception(error_);
  }

  // Returns the first operation of a lane that may begin now, or -1.
  int take(Lane lane) {
    if (state(lane).busy) return -1;
    const std::vector<int>& places = list_->lane(lane);
    size_t& first = state(lane).first;
    while (first < places.size() && missing_[static_cast<size_t>(places[first])] < 0) ++first;
    for (size_t i = first; i < places.size(); ++i) {
      int& missing = missing_[static_cast<size_t>(places[i])];
      if (missing == 0) {
        missing = kBegun;
        state(lane).busy = true;
        return places[i];
      }
      if (is_communication(lane)) break;
    }
    return -1;
  }

  void mark_done(int place) {
    missing_[static_cast<size_t>(place)] = kDone;
    for (const int follower : list_->followers(place)) {
      if (--missing_[static_cast<size_t>(follower)] > 0) continue;
      const Lane lane = (*list_)[follower].lane;
      if (!is_helped(lane)) state(lane).changed.notify_all();
    }
    --left_;
    state(Lane::kCompute).changed.notify_all();  // the caller may wait for any lane
  }

  void perform(int place) {
    const Operation& operation = (*list_)[place];
    for (const int before : operation.after) {
      const Lane lane = (*list_)[before].lane;
      if (lane == operation.lane || !is_on_device(lane) || !is_on_device(operation.lane)) continue;
      backend_.wait(stream_of(operation.lane), done_at_[static_cast<size_t>(before)]);
    }
    const int64_t begin = now_ns();
    operation.run();
    note_on_device(place);
    if (!is_timed(operation)) return;
    const std::lock_guard lock(mutex_);
    times_.push_back({operation.kind, operation.object, operation.lane, begin, now_ns()});
  }

  // Device followers wait for a recorded event; host followers need the stream synchronized.
  void note_on_device(int place) {
    const Lane lane = (*list_)[place].lane;
    if (!is_on_device(lane)) return;
    const std::vector<int>& followers = list_->followers(place);
    const auto is_hosts = [&](int follower) { return !is_on_device((*list_)[follower].lane); };
    if (std::ranges::any_of(followers, is_hosts)) backend_.synchronize(stream_of(lane));
    if (list_->crosses_lanes(place)) {
      done_at_[static_cast<size_t>(place)] = backend_.record(stream_of(lane));
    }
  }

  // An error in one thread stops all of them.
  template <typename Body>
  void guarded(const Body& body) {
    try {
      body();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      stop_ = true;
      notify_all();
    }
  }

  device::Backend& backend_;
  std::vector<device::Event> done_at_;  // [operations]

  std::mutex mutex_;  // guards the members below
  const OperationList* list_ = nullptr;
  std::vector<int> missing_;  // [operations] number of unfinished dependencies, or kBegun or kDone
  int left_ = 0;              // operations not yet done
  std::array<LaneState, kLanes> lanes_;
  std::vector<OperationTime> times_;
  std::exception_ptr error_;
  bool caller_helps_ = false;
  bool stop_ = false;

  std::vector<OperationTime> finished_times_;
};

}  // namespace

std::unique_ptr<Executor> make_thread_executor(device::Backend& backend) {
  return std::make_unique<ThreadExecutor>(backend);
}

}  // namespace strata::comm
