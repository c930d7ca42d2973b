#include "comm/buckets/weights/weight_gatherer.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/timing.h"
#include "comm/buckets/bucket_options.h"
#include "comm/collectives.h"

namespace strata::comm {
namespace {

using device::Stream;
using device::Tensor;

// A bucket of a unit.
struct Part {
  Tensor kept;   // this rank's shard
  Tensor place;  // where it lies in the bucket
  Tensor whole;
};

// Of every unit.
using Parts = std::vector<std::vector<Part>>;

Parts parts_of(const Communicator& communicator, const device::Arena& shards,
               const device::Arena& units, const std::vector<Range>& buckets) {
  Parts parts;
  size_t found = 0;
  for (const device::Arena::Run& unit : units.runs()) {
    std::vector<Part>& of_unit = parts.emplace_back();
    for (const Range& bucket : buckets) {
      if (bucket.begin < unit.range.begin || bucket.end > unit.range.end) continue;
      const Range shard = local_shard(bucket, communicator);
      of_unit.push_back(
          {elements_of(shards, shard), elements_of(units, shard), elements_of(units, bucket)});
      ++found;
    }
  }
  if (found != buckets.size()) fail("weights: a bucket to gather lies in more than one unit");
  return parts;
}

class ThreadGatherer final : public WeightGatherer {
 public:
  ThreadGatherer(device::Backend& backend, Communicator& communicator, Parts parts)
      : backend_(backend),
        communicator_(communicator.duplicate()),
        parts_(std::move(parts)),
        begun_(parts_.size() + 1),
        last_(parts_.size()) {
    thread_ = std::thread([this] { loop(); });
  }
  ~ThreadGatherer() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void gather(int unit) override {
    // The thread writes without a stream.
    backend_.synchronize(Stream::kCompute);
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return error_ || asked_ - done_ < std::ssize(begun_); });
      if (error_) std::rethrow_exception(error_);
      begun_[static_cast<size_t>(asked_ % std::ssize(begun_))] = unit;
      last_[static_cast<size_t>(unit)] = ++asked_;
    }
    changed_.notify_all();
  }

  void wait(int unit) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return error_ || done_ >= last_[static_cast<size_t>(unit)]; });
    if (error_) std::rethrow_exception(error_);
  }

  void time_steps(bool on) override {
    const std::lock_guard lock(mutex_);
    timed_ = on;
  }
  std::vector<OperationTime> take_times() override {
    const std::lock_guard lock(mutex_);
    return std::exchange(events_, {});
  }

 private:
  void loop() {
    try {
      for (;;) {
        int unit = 0;
        {
          std::unique_lock lock(mutex_);
          changed_.wait(lock, [&] { return stop_ || done_ < asked_; });
          if (stop_) return;
          unit = begun_[static_cast<size_t>(done_ % std::ssize(begun_))];
        }
        const int64_t begin = nanoseconds(Clock::now());
        for (const Part& part : parts_[static_cast<size_t>(unit)]) {
          std::memcpy(part.place.data, part.kept.data, part.kept.bytes());
          communicator_->all_gather(part.whole.data, part.whole.size(), part.whole.dtype);
        }
        {
          const std::lock_guard lock(mutex_);
          const int64_t end = nanoseconds(Clock::now());
          if (timed_)
            events_.push_back({Operation::Kind::kGather, unit, Lane::kGathers, begin, end});
          ++done_;
        }
        changed_.notify_all();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      error_ = std::current_exception();
    }
    changed_.notify_all();
  }

  device::Backend& backend_;
  const std::unique_ptr<Communicator> communicator_;
  const Parts parts_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::vector<int> begun_;        // units, in a ring
  int64_t asked_ = 0, done_ = 0;  // gathers so far
  std::vector<int64_t> last_;     // of every unit, as asked_ counts
  std::exception_ptr error_;
  bool timed_ = false;
  std::vector<OperationTime> events_;
  bool stop_ = false;

  std::thread thread_;
};

class StreamGatherer final : public WeightGatherer {
 public:
  StreamGatherer(device::Backend& backend, Communicator& communicator, Parts parts, int max_ctas)
      : backend_(backend),
        communicator_(communicator.duplicate()),
        collectives_(make_collectives(*communicator_, backend, Stream::kReduce, max_ctas)),
        parts_(std::move(parts)),
        gathered_(parts_.size()),
        pending_(parts_.size()) {
    connect();
  }
  // See BucketWork.
  ~StreamGatherer() override {
    if (std::uncaught_exceptions() > 0) {
      collectives_.reset();
      return;
    }
    try {
      backend_.synchronize(Stream::kReduce);
    } catch (...) {
      // Whoever uses the device next meets its error again.
    }
  }

  void gather(int unit) override {
    const auto i = static_cast<size_t>(unit);
    backend_.wait(Stream::kReduce, backend_.record(Stream::kCompute));
    const size_t begin = timed_ ? stopwatch_->mark(Stream::kReduce) : 0;
    for (const Part& part : parts_[i]) gather(part);
    if (timed_) marked_.push_back({unit, begin, stopwatch_->mark(Stream::kReduce)});
    gathered_[i] = backend_.record(Stream::kReduce);
    pending_[i] = true;
  }

  void wait(int unit) override {
    const auto i = static_cast<size_t>(unit);
    if (pending_[i]) backend_.wait(Stream::kCompute, gathered_[i]);
    pending_[i] = false;
  }

  void time_steps(bool on) override {
    timed_ = on;
    if (on && !stopwatch_) stopwatch_ = backend_.make_stopwatch();
  }
  std::vector<OperationTime> take_times() override {
    std::vector<OperationTime> events;
    if (marked_.empty()) return events;
    const std::vector<int64_t> times = stopwatch_->read();
    for (const Marked& gather : std::exchange(marked_, {})) {
      events.push_back({Operation::Kind::kGather, gather.unit, Lane::kGathers, times[gather.begin],
                        times[gather.end]});
    }
    return events;
  }

 private:
  // A gather between two marks.
  struct Marked {
    int unit;
    size_t begin, end;
  };

  void gather(const Part& part) {
    if (part.kept.size() > 0) {
      backend_.convert(Stream::kReduce, {.source = part.kept, .destination = part.place});
    }
    collectives_->all_gather(part.whole.data, part.whole.size(), part.whole.dtype);
  }

  // Libraries make the connections that they need when they first need them.
  void connect() {
    for (const std::vector<Part>& unit : parts_) {
      for (const Part& part : unit) {
        collectives_->all_gather(part.whole.data, part.whole.size(), part.whole.dtype);
      }
    }
    backend_.synchronize(Stream::kReduce);
  }

  device::Backend& backend_;
  const std::unique_ptr<Communicator> communicator_;
  std::unique_ptr<device::Collectives> collectives_;
  const Parts parts_;
  std::vector<device::Event> gathered_;  // when units were, last
  std::vector<char> pending_;            // what was gathered has not been waited for
  bool timed_ = false;
  std::unique_ptr<device::Stopwatch> stopwatch_;  // null: nothing has been timed
  std::vector<Marked> marked_;
};

}  // namespace

std::unique_ptr<WeightGatherer> make_weight_gatherer(
    device::Backend& backend, Communicator& communicator, const device::Arena& shards,
    const device::Arena& units, const std::vector<Range>& buckets, int max_ctas) {
  Parts parts = parts_of(communicator, shards, units, buckets);
  if (backend.memory_is_host()) {
    return std::make_unique<ThreadGatherer>(backend, communicator, std::move(parts));
  }
  return std::make_unique<StreamGatherer>(backend, communicator, std::move(parts), max_ctas);
}

}  // namespace strata::comm
