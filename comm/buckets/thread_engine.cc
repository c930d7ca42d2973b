#include <cmath>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/timing.h"
#include "comm/buckets/bucket_arithmetic.h"
#include "comm/buckets/bucket_engine.h"
#include "comm/buckets/bucket_readiness.h"
#include "comm/buckets/late_rows.h"
#include "comm/buckets/memory_turns.h"
#include "device/buffer.h"

namespace strata::comm {
namespace {

using device::Stream;
using device::Tensor;

int64_t now_ns() { return nanoseconds(Clock::now()); }

// Conversion buffers in rotation: one in the all-reduce, one ready for it, one being emptied.
constexpr int kStagingBuffers = 3;

class ThreadEngine final : public BucketEngine {
 public:
  ThreadEngine(device::Backend& backend, Communicator& communicator, const device::Arena& gradients,
               std::span<const int64_t> boundaries, const BucketOptions& options,
               BucketUpdate update, DeferredUpdate deferred_update);
  ~ThreadEngine() override;

  void scale_loss(float scale) override;
  bool overflowed() const override { return overflowed_; }
  void begin_writing(const Range& range) override;
  void mark_ready(int64_t begin, int64_t end) override;
  void announce_rows(std::span<const uint8_t> touched) override;
  void mark_rows_ready() override;
  int64_t late_rows() const override { return rows_ ? rows_->rows() : 0; }
  StepTimes finish_step() override;
  void time_steps(bool) override {}  // it always does
  // The device thread has nothing to do between steps.
  std::optional<double> gradient_norm() override { return arithmetic_.gradient_norm(); }
  const std::vector<Range>& buckets() const override { return arithmetic_.buckets(); }
  const std::vector<BucketEvent>& events() const override { return finished_events_; }

 private:
  // What the device thread can do next.
  enum class Work : uint8_t {
    kNone,
    kLocalNorm,
    kClipAndCast,
    kCastBack,
    kGatherRows,
    kAddRows,
    kPublishNorm,
    kPublishOverflow,
    kUpdate,
    kPublishSums,
    kFinish
  };

  // How many buckets have passed each stage in this step; they pass in order, in several rounds the
  // stages of reduction.
  struct Progress {
    int normed = 0;     // in this rank's own norm (kBeforeAllReduce)
    int clipped = 0;    // clipped, converted: may be reduced
    int reduced = 0;    // summed over ranks
    int cast_back = 0;  // back in the arena, and in the global norm (kAfterAllReduce)
    int updated = 0;
    int finished = 0;                 // by the deferred update, where there is one
    int gathered = 0;                 // weights of all ranks are here
    bool norm_published = false;      // this rank's part of the norm that clips is on the host
    bool norm_known = false;          // the norm is
    bool overflow_published = false;  // whether this rank's gradients overflowed is on the host
    bool overflow_known = false;      // whether any rank's did
    bool sums_published = false;  // this rank's part of the deferred update's sums is on the host
    bool sums_known = false;      // the sums are
    // Of LateRows.
    bool rows_announced = false;
    bool rows_agreed = false;  // on which rows some rank touches
    bool rows_ready = false;
    bool rows_gathered = false;
    bool rows_reduced = false;
    bool rows_added = false;
  };

  int count() const { return arithmetic_.count(); }
  // Of a step's reductions: all buckets, round after round.
  int reductions() const { return arithmetic_.reductions(); }
  int bucket_of(int reduction) const { return reduction % count(); }
  int round_of(int reduction) const { return reduction / count(); }
  bool alone() const { return arithmetic_.alone(); }
  bool sharded() const { return arithmetic_.sharded(); }
  bool gathers() const { return arithmetic_.gathers(); }
  bool deferred() const { return sharded() && deferred_update_.sums; }
  // What clips is a norm that ranks add up.
  bool exchanges_norm() const {
    return (clip_ == ClipMode::kAfterAllReduce && (!alone() || parts_)) ||
           (clip_ == ClipMode::kBeforeAllReduce && parts_);
  }
  // Whether anything overflowed is not to be seen in the norm that all ranks have.
  bool agrees_on_overflow() const { return scaled_ && clip_ != ClipMode::kAfterAllReduce; }
  bool finished() const {
    return gathers() ? progress_.gathered == count() : gatherable() == count();
  }
  int gatherable() const { return deferred() ? progress_.finished : progress_.updated; }

  template <typename Body>
  void guard(Body body);
  void device_loop();
  void reduce_loop();
  void gather_loop();
  Work next_device_work() const;
  bool may_clip_and_cast(int reduction) const;
  bool may_update(int bucket) const;
  // The bucket that is updated as the nth: those of LateRows' table are the last.
  int nth_updated(int n) const { return (n + arithmetic_.table_buckets()) % count(); }
  void perform(Work work);
  void complete(Work work);
  template <typename Body>
  void timed(int bucket, BucketPhase phase, Body body);

  void local_norm(int bucket);
  void clip_and_cast(int reduction);
  void cast_back(int reduction);
  void gather_rows();
  void add_rows();
  void publish_norm();
  void exchange_norm();
  void use_norm();
  void publish_overflow();
  void exchange_overflow();
  void update(int bucket);
  void publish_sums();
  void finish(int bucket);
  void* staging(int reduction) const;

  void begin_next_step();
  void stop();  // and waits for the threads

  device::Backend& backend_;
  const std::unique_ptr<Communicator> communicator_;
  const std::unique_ptr<Communicator> gather_communicator_;  // null: every rank updates everything
  const std::unique_ptr<Communicator> parts_;                // null: this rank has the whole model
  const ClipMode clip_;
  const bool scaled_;  // the loss is
  const BucketUpdate update_;
  const DeferredUpdate deferred_update_;
  BucketArithmetic arithmetic_;
  std::optional<RowExchange> rows_;  // of LateRows
  const MemoryTurns turns_;
  std::vector<device::Buffer> staging_;
  std::vector<Tensor> reduce_buffers_;  // what is reduced of every bucket
  double host_norm_squared_ = 0;
  float host_overflow_ = 0;  // 1: of some rank known so far
  std::vector<double> host_sums_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  BucketReadiness readiness_;
  std::vector<device::Event> cast_back_;  // when buckets were, last
  Progress progress_;
  device::Event rows_event_ = 0;
  std::vector<BucketEvent> events_;
  std::exception_ptr error_;
  bool working_ = false;       // the device thread is
  bool caller_works_ = false;  // in its place
  bool stop_ = false;

  bool overflowed_ = false;  // in the step that is being updated, or was last
  std::vector<BucketEvent> finished_events_;
  std::thread device_thread_;
  std::thread reduce_thread_;
  std::thread gather_thread_;
};

ThreadEngine::ThreadEngine(device::Backend& backend, Communicator& communicator,
                           const device::Arena& gradients, std::span<const int64_t> boundaries,
                           const BucketOptions& options, BucketUpdate update,
                           DeferredUpdate deferred_update)
    : backend_(backend),
      communicator_(communicator.duplicate()),
      gather_communicator_(
          options.gathered_weights && communicator.size() > 1 ? communicator.duplicate() : nullptr),
      parts_(options.parts ? options.parts->duplicate() : nullptr),
      clip_(options.clip),
      scaled_(options.scaled_loss),
      update_(std::move(update)),
      deferred_update_(std::move(deferred_update)),
      arithmetic_(backend, *communicator_, gradients, boundaries, options),
      turns_(gradients, arithmetic_.buckets()),
      reduce_buffers_(arithmetic_.buckets().size()),
      readiness_(arithmetic_.buckets(), arithmetic_.rounds()),
      cast_back_(arithmetic_.buckets().size()) {
  communicator_->accumulate(options.accumulation);
  if (options.late_rows.table.size() > 0) {
    if (arithmetic_.clips_own() || sharded()) {
      fail("late rows need gradients that are reduced whole before they are clipped");
    }
    rows_.emplace(backend, *communicator_, elements_of(gradients, options.late_rows.table),
                  options.late_rows.late, options.reduce_dtype);
  }
  for (int i = 0; arithmetic_.converts() && i < std::min(kStagingBuffers, count()); ++i) {
    staging_.emplace_back(backend, arithmetic_.staging_bytes());
  }
  try {
    // One rank has nothing to send beside backward, whose threads others would only hold up.
    if (!alone() || parts_) {
      device_thread_ = std::thread([this] { guard([this] { device_loop(); }); });
      reduce_thread_ = std::thread([this] { guard([this] { reduce_loop(); }); });
    }
    if (gathers()) gather_thread_ = std::thread([this] { guard([this] { gather_loop(); }); });
  } catch (const std::exception& error) {  // no further thread, or no memory for one
    stop();
    fail("cannot start a thread that reduces gradients: {}; allow more processes (ulimit -u)",
         error.what());
  }
}

ThreadEngine::~ThreadEngine() { stop(); }

void ThreadEngine::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (device_thread_.joinable()) device_thread_.join();
  if (reduce_thread_.joinable()) reduce_thread_.join();
  if (gather_thread_.joinable()) gather_thread_.join();
}

// ---- The compute thread's side.

void ThreadEngine::scale_loss(float scale) {
  if (!scaled_) fail("gradients of a scaled loss, which these buckets were not made for");
  const std::lock_guard lock(mutex_);
  arithmetic_.scale_loss(scale);
}

void ThreadEngine::begin_writing(const Range& range) {
  device::Event before = 0;
  {
    std::unique_lock lock(mutex_);
    const int round = readiness_.rounds_of(turns_.last_bucket(range));
    const int needed = round < arithmetic_.rounds() ? turns_.reductions_before(range, round) : 0;
    if (needed == 0) return;
    const int last = bucket_of(needed - 1);
    if (!readiness_.is_ready(last, round_of(needed - 1))) {
      fail("gradients [{}, {}) are written where bucket {} lies, which is not ready", range.begin,
           range.end, last);
    }
    changed_.wait(lock, [&] { return error_ || progress_.cast_back >= needed; });
    if (error_) std::rethrow_exception(error_);
    before = cast_back_[static_cast<size_t>(last)];
  }
  backend_.wait(Stream::kCompute, before);
}

void ThreadEngine::mark_ready(int64_t begin, int64_t end) {
  const device::Event event = backend_.record(Stream::kCompute);
  {
    const std::lock_guard lock(mutex_);
    readiness_.mark_ready(begin, end, event);
  }
  changed_.notify_all();
}

void ThreadEngine::announce_rows(std::span<const uint8_t> touched) {
  if (!rows_) fail("there are no late rows");
  {
    const std::lock_guard lock(mutex_);
    rows_->announce(touched);
    progress_.rows_announced = true;
    if (alone()) {
      rows_->agree();
      progress_.rows_agreed = true;
    }
  }
  changed_.notify_all();
}

void ThreadEngine::mark_rows_ready() {
  const device::Event event = backend_.record(Stream::kCompute);
  {
    const std::lock_guard lock(mutex_);
    if (!progress_.rows_announced) fail("late rows are ready that were not announced");
    rows_event_ = event;
    progress_.rows_ready = true;
  }
  changed_.notify_all();
}

// Backward has ended, so the caller has nothing else to do, and all threads of the device: it takes
// the device thread's place.
StepTimes ThreadEngine::finish_step() {
  const int64_t wait_begin = now_ns();
  std::unique_lock lock(mutex_);
  if (!error_) readiness_.check_all_ready();
  if (!error_ && rows_ && !progress_.rows_ready) fail("finish_step: the late rows are not ready");
  caller_works_ = true;
  while (!error_ && !finished()) {
    const Work work = working_ ? Work::kNone : next_device_work();
    if (work == Work::kNone) {
      changed_.wait(lock);
      continue;
    }
    lock.unlock();
    guard([&] { perform(work); });
    lock.lock();
    if (!error_) complete(work);
    changed_.notify_all();
  }
  caller_works_ = false;
  if (error_) std::rethrow_exception(error_);
  backend_.synchronize(Stream::kReduce);
  const StepTimes times = step_times(events_, wait_begin, now_ns());
  begin_next_step();
  return times;
}

void ThreadEngine::begin_next_step() {
  readiness_.begin_next_step();
  progress_ = {};
  finished_events_ = std::exchange(events_, {});
}

// ---- The engine's threads.

// An error in one thread ends them all.
template <typename Body>
void ThreadEngine::guard(Body body) {
  try {
    body();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
    stop_ = true;
  }
  changed_.notify_all();
}

void ThreadEngine::device_loop() {
  for (;;) {
    Work work = Work::kNone;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] {
        work = caller_works_ ? Work::kNone : next_device_work();
        return stop_ || work != Work::kNone;
      });
      if (stop_) return;
      working_ = true;
    }
    perform(work);
    {
      const std::lock_guard lock(mutex_);
      working_ = false;
      complete(work);
    }
    changed_.notify_all();
  }
}

// Feeding the all-reduce comes first: it has the longest way to go.
ThreadEngine::Work ThreadEngine::next_device_work() const {
  const Progress& p = progress_;
  const bool whole = p.cast_back == reductions() && (!rows_ || p.rows_added);
  const bool normed = clip_ == ClipMode::kAfterAllReduce ? whole
                      : exchanges_norm()                 ? p.normed == count()
                                                         : false;
  if (clip_ == ClipMode::kBeforeAllReduce && p.normed < count() && readiness_.is_ready(p.normed)) {
    return Work::kLocalNorm;
  }
  if (normed && !p.norm_published) return Work::kPublishNorm;
  if (agrees_on_overflow() && whole && !p.overflow_published) return Work::kPublishOverflow;
  if (p.clipped < reductions() && may_clip_and_cast(p.clipped)) return Work::kClipAndCast;
  if (p.cast_back < p.reduced) return Work::kCastBack;
  if (p.rows_ready && p.rows_agreed && !p.rows_gathered) return Work::kGatherRows;
  if (p.cast_back == reductions() && p.rows_reduced && !p.rows_added) return Work::kAddRows;
  if (p.updated < count() && may_update(nth_updated(p.updated))) return Work::kUpdate;
  if (deferred() && p.updated == count() && !p.sums_published) return Work::kPublishSums;
  if (p.sums_known && p.finished < count()) return Work::kFinish;
  return Work::kNone;
}

bool ThreadEngine::may_clip_and_cast(int reduction) const {
  if (clip_ == ClipMode::kBeforeAllReduce &&
      (progress_.normed < count() || (exchanges_norm() && !progress_.norm_known))) {
    return false;
  }
  if (arithmetic_.converts() &&
      reduction - progress_.cast_back >= static_cast<int>(staging_.size())) {
    return false;
  }
  return readiness_.is_ready(bucket_of(reduction), round_of(reduction));
}

// Updates take from backward the cores and the bandwidth it needs; after it they fill the wait for
// the last all-reduces. Weights that can be gathered once they are updated cannot wait.
bool ThreadEngine::may_update(int bucket) const {
  if (clip_ == ClipMode::kAfterAllReduce) return progress_.norm_known;
  if (agrees_on_overflow() && !progress_.overflow_known) return false;
  if (bucket < arithmetic_.table_buckets() && !progress_.rows_added) return false;
  const bool at_once = gathers() && !deferred();
  const int last_reduction = reductions() - count() + bucket;
  return last_reduction < progress_.cast_back && (at_once || readiness_.all_ready());
}

void ThreadEngine::perform(Work work) {
  switch (work) {
    case Work::kLocalNorm:
      return timed(progress_.normed, BucketPhase::kClip, [this] { local_norm(progress_.normed); });
    case Work::kClipAndCast:
      return timed(bucket_of(progress_.clipped), BucketPhase::kClip,
                   [this] { clip_and_cast(progress_.clipped); });
    case Work::kCastBack:
      return timed(bucket_of(progress_.cast_back), BucketPhase::kNorm,
                   [this] { cast_back(progress_.cast_back); });
    case Work::kGatherRows:
      return timed(kLateRowsBucket, BucketPhase::kClip, [this] { gather_rows(); });
    case Work::kAddRows:
      return timed(kLateRowsBucket, BucketPhase::kNorm, [this] { add_rows(); });
    case Work::kPublishNorm:
      return publish_norm();
    case Work::kPublishOverflow:
      return publish_overflow();
    case Work::kUpdate: {
      const int bucket = nth_updated(progress_.updated);
      return timed(bucket, BucketPhase::kUpdate, [&] { update(bucket); });
    }
    case Work::kPublishSums:
      return publish_sums();
    case Work::kFinish:
      return timed(progress_.finished, BucketPhase::kFinish,
                   [this] { finish(progress_.finished); });
    case Work::kNone:
      return;
  }
}

void ThreadEngine::complete(Work work) {
  switch (work) {
    case Work::kLocalNorm:
      ++progress_.normed;
      return;
    case Work::kClipAndCast:
      ++progress_.clipped;
      if (alone()) ++progress_.reduced;
      return;
    case Work::kCastBack:
      ++progress_.cast_back;
      return;
    case Work::kGatherRows:
      progress_.rows_gathered = true;
      if (alone()) progress_.rows_reduced = true;
      return;
    case Work::kAddRows:
      progress_.rows_added = true;
      return;
    case Work::kPublishNorm:
      progress_.norm_published = true;
      if (!exchanges_norm()) progress_.norm_known = true;
      return;
    case Work::kPublishOverflow:
      progress_.overflow_published = true;
      if (alone() && !parts_) progress_.overflow_known = true;
      return;
    case Work::kUpdate:
      ++progress_.updated;
      return;
    case Work::kPublishSums:
      progress_.sums_published = true;
      return;
    case Work::kFinish:
      ++progress_.finished;
      return;
    case Work::kNone:
      return;
  }
}

void ThreadEngine::reduce_loop() {
  for (;;) {
    bool norm = false, overflow = false, sums = false, agree = false, rows = false;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] {
        norm = progress_.norm_published && !progress_.norm_known;
        overflow = progress_.overflow_published && !progress_.overflow_known;
        sums = progress_.sums_published && !progress_.sums_known;
        // Everywhere in the same order: which rows, all buckets, the rows.
        agree = progress_.rows_announced && !progress_.rows_agreed;
        rows =
            progress_.rows_gathered && !progress_.rows_reduced && progress_.reduced == reductions();
        const bool bucket =
            progress_.reduced < progress_.clipped && (!rows_ || progress_.rows_agreed);
        return stop_ || norm || overflow || sums || agree || rows || bucket;
      });
      if (stop_) return;
    }
    if (agree) {
      timed(kLateRowsBucket, BucketPhase::kReduce, [this] { rows_->agree(); });
    } else if (rows) {
      timed(kLateRowsBucket, BucketPhase::kReduce, [this] { rows_->reduce(); });
    } else if (sums) {
      timed(kNoBucket, BucketPhase::kReduce, [this] {
        communicator_->all_reduce_sum(host_sums_.data(), std::ssize(host_sums_),
                                      device::DType::kF64);
      });
    } else if (norm) {
      timed(kNoBucket, BucketPhase::kReduce, [this] { exchange_norm(); });
    } else if (overflow) {
      timed(kNoBucket, BucketPhase::kReduce, [this] { exchange_overflow(); });
    } else {
      const int bucket = bucket_of(progress_.reduced);
      timed(bucket, BucketPhase::kReduce, [&] {
        const Tensor& data = reduce_buffers_[static_cast<size_t>(bucket)];
        if (sharded()) {
          communicator_->reduce_scatter_sum(data.data, data.size(), data.dtype);
        } else {
          communicator_->all_reduce_sum(data.data, data.size(), data.dtype);
        }
      });
    }
    {
      const std::lock_guard lock(mutex_);
      if (agree) {
        progress_.rows_agreed = true;
      } else if (rows) {
        progress_.rows_reduced = true;
      } else if (sums) {
        progress_.sums_known = true;
      } else if (norm) {
        progress_.norm_known = true;
      } else if (overflow) {
        progress_.overflow_known = true;
      } else {
        ++progress_.reduced;
      }
    }
    changed_.notify_all();
  }
}

// On a communicator of its own: which of the next reduction and the next gathering comes first
// differs from rank to rank.
void ThreadEngine::gather_loop() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stop_ || progress_.gathered < gatherable(); });
      if (stop_) return;
    }
    const int bucket = progress_.gathered;
    timed(bucket, BucketPhase::kGather, [&] {
      const Tensor weights = arithmetic_.gathered_weights(bucket);
      gather_communicator_->all_gather(weights.data, weights.size(), weights.dtype);
    });
    {
      const std::lock_guard lock(mutex_);
      ++progress_.gathered;
    }
    changed_.notify_all();
  }
}

template <typename Body>
void ThreadEngine::timed(int bucket, BucketPhase phase, Body body) {
  const int64_t begin = now_ns();
  body();
  const int64_t end = now_ns();
  const std::lock_guard lock(mutex_);
  events_.push_back({bucket, phase, begin, end});
}

// ---- What happens to a bucket, in order.

void ThreadEngine::local_norm(int bucket) {
  backend_.wait(Stream::kReduce, readiness_.ready_event(bucket));
  arithmetic_.local_norm(bucket);
}

void ThreadEngine::clip_and_cast(int reduction) {
  const int bucket = bucket_of(reduction);
  backend_.wait(Stream::kReduce, readiness_.ready_event(bucket));
  if (clip_ == ClipMode::kBeforeAllReduce && bucket == 0) use_norm();
  reduce_buffers_[static_cast<size_t>(bucket)] =
      arithmetic_.clip_and_cast(bucket, staging(reduction));
  if (!alone()) backend_.synchronize(Stream::kReduce);
}

void ThreadEngine::cast_back(int reduction) {
  const int bucket = bucket_of(reduction);
  arithmetic_.cast_back(bucket, round_of(reduction), staging(reduction));
  cast_back_[static_cast<size_t>(bucket)] = backend_.record(Stream::kReduce);
  // The staging memory is another bucket's from here on.
  if (arithmetic_.converts()) backend_.synchronize(Stream::kReduce);
}

void ThreadEngine::gather_rows() {
  backend_.wait(Stream::kReduce, rows_event_);
  rows_->gather();
}

void ThreadEngine::add_rows() {
  rows_->add();
  arithmetic_.add_table_norm();
}

void ThreadEngine::publish_norm() {
  const bool shows_overflow = scaled_ && !agrees_on_overflow();
  if (!exchanges_norm() && !shows_overflow) return;
  backend_.copy_to_host(Stream::kReduce, &host_norm_squared_, arithmetic_.clip_norm_squared(),
                        sizeof(double));
  backend_.synchronize(Stream::kReduce);
}

// Over the ranks that reduce, then over the parts of the model.
void ThreadEngine::exchange_norm() {
  constexpr auto kF64 = device::DType::kF64;
  if (clip_ == ClipMode::kAfterAllReduce) {
    communicator_->all_reduce_sum(&host_norm_squared_, 1, kF64);
  }
  if (parts_) parts_->all_reduce_sum(&host_norm_squared_, 1, kF64);
}

void ThreadEngine::use_norm() {
  if (!exchanges_norm()) return;
  backend_.copy_to_device(Stream::kReduce, arithmetic_.clip_norm_squared(), &host_norm_squared_,
                          sizeof(double));
}

void ThreadEngine::publish_overflow() { host_overflow_ = arithmetic_.overflowed() ? 1 : 0; }

void ThreadEngine::exchange_overflow() {
  communicator_->all_reduce_max(std::span(&host_overflow_, 1));
  if (parts_) parts_->all_reduce_max(std::span(&host_overflow_, 1));
}

void ThreadEngine::update(int bucket) {
  if (bucket == nth_updated(0)) {
    if (clip_ == ClipMode::kAfterAllReduce) use_norm();
    overflowed_ =
        agrees_on_overflow() ? host_overflow_ > 0 : scaled_ && !std::isfinite(host_norm_squared_);
  }
  if (overflowed_) return;
  const ReducedGradients reduced = arithmetic_.reduced(bucket);
  if (reduced.range.size() > 0) update_(reduced);
  if (gathers() && !deferred()) backend_.synchronize(Stream::kReduce);
}

void ThreadEngine::publish_sums() {
  const Tensor& sums = deferred_update_.sums;
  host_sums_.resize(static_cast<size_t>(sums.size()));
  backend_.copy_to_host(Stream::kReduce, host_sums_.data(), sums.data, sums.bytes());
  backend_.synchronize(Stream::kReduce);
}

void ThreadEngine::finish(int bucket) {
  if (bucket == 0) {
    const Tensor& sums = deferred_update_.sums;
    backend_.copy_to_device(Stream::kReduce, sums.data, host_sums_.data(), sums.bytes());
  }
  const ReducedGradients reduced = arithmetic_.reduced(bucket);
  if (reduced.range.size() > 0 && !overflowed_) deferred_update_.finish(reduced);
  backend_.synchronize(Stream::kReduce);
}

void* ThreadEngine::staging(int reduction) const {
  if (staging_.empty()) return nullptr;
  return staging_[static_cast<size_t>(reduction) % staging_.size()].data();
}

}  // namespace

std::unique_ptr<BucketEngine> make_thread_engine(device::Backend& backend,
                                                 Communicator& communicator,
                                                 const device::Arena& gradients,
                                                 std::span<const int64_t> boundaries,
                                                 const BucketOptions& options, BucketUpdate update,
                                                 DeferredUpdate deferred_update) {
  return std::make_unique<ThreadEngine>(backend, communicator, gradients, boundaries, options,
                                        std::move(update), std::move(deferred_update));
}

}  // namespace strata::comm
