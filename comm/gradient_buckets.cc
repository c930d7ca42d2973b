#include "comm/gradient_buckets.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "base/error.h"

namespace strata::comm {
namespace {

using device::Stream;
using device::Tensor;

constexpr int kNormExchange = -1;

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Tensor part_of(const Tensor& arena, const BucketRange& range) {
  return {arena.as<char>() + range.begin * static_cast<int64_t>(size_of(arena.dtype)), arena.dtype,
          1, range.size()};
}

double seconds(int64_t nanoseconds) { return 1e-9 * static_cast<double>(nanoseconds); }

// Conversion buffers in rotation: one in the all-reduce, one ready for it, one being emptied.
constexpr int kStagingBuffers = 3;

}  // namespace

class GradientBuckets::Engine {
 public:
  Engine(device::Backend& backend, Communicator& communicator, Tensor gradients,
         std::span<const int64_t> boundaries, const BucketOptions& options, Update update);
  ~Engine();

  void gradients_final(int64_t begin, int64_t end);
  StepTimes finish_step();
  const std::vector<BucketRange>& buckets() const { return buckets_; }
  const std::vector<BucketEvent>& events() const { return finished_events_; }

 private:
  // What the device thread can do next.
  enum class Work : uint8_t { kNone, kMeasure, kPrepare, kCollect, kPublishNorm, kUpdate };

  // How many buckets have passed each stage in this step; they pass in order.
  struct Progress {
    int measured = 0;   // in this rank's own norm (kBeforeAllReduce)
    int prepared = 0;   // clipped, converted: may be reduced
    int reduced = 0;    // summed over ranks
    int collected = 0;  // back in the arena, and in the global norm (kAfterAllReduce)
    int updated = 0;
    int gathered = 0;             // weights of all ranks are here
    bool norm_published = false;  // this rank's part of the global norm is on the host
    bool norm_known = false;      // the global norm is
  };

  int count() const { return static_cast<int>(buckets_.size()); }
  bool alone() const { return communicator_->size() == 1; }
  bool is_final(int bucket) const { return missing_[bucket] == 0; }
  bool backward_ended() const {
    return std::all_of(missing_.begin(), missing_.end(), [](int64_t count) { return count == 0; });
  }
  bool sharded() const { return gather_communicator_ != nullptr; }
  bool finished() const { return (sharded() ? progress_.gathered : progress_.updated) == count(); }

  template <typename Body>
  void run_thread(Body body);
  void device_loop();
  void reduce_loop();
  void gather_loop();
  Work next_device_work() const;
  bool may_prepare(int bucket) const;
  bool may_update(int bucket) const;
  void perform(Work work);
  void complete(Work work);
  template <typename Body>
  void timed(int bucket, BucketPhase phase, Body body);

  void measure(int bucket);
  void prepare(int bucket);
  void collect(int bucket);
  void publish_norm();
  void update(int bucket);
  void clip(int bucket, double* norm_squared, float max_norm);
  void add_norm(const BucketRange& range, double* norm_squared);

  Tensor gradients(const BucketRange& range) const;
  Tensor staging(int bucket) const;
  BucketRange updated_range(int bucket) const;
  void clear_gradients(int64_t begin, int64_t end);
  double* norm_squared(int bucket) const { return norms_.as<double>() + bucket; }
  double* global_norm_squared() const { return norm_squared(count()); }

  void check_everything_reported() const;
  std::optional<double> gradient_norm();
  StepTimes summarize(int64_t wait_begin, int64_t wait_end);
  void begin_next_step();

  device::Backend& backend_;
  const std::unique_ptr<Communicator> communicator_;
  const std::unique_ptr<Communicator> gather_communicator_;  // null: every rank updates everything
  const Tensor gradients_;
  const BucketOptions options_;
  const Update update_;
  const std::vector<BucketRange> buckets_;
  const bool converts_;
  std::vector<device::Buffer> staging_;
  device::Buffer norms_;  // [K + 1] doubles: of every bucket, then of all
  double host_norm_squared_ = 0;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::vector<int64_t> missing_;             // elements of every bucket not reported
  std::vector<device::Event> final_events_;  // in the compute stream, of every bucket
  Progress progress_;
  std::vector<BucketEvent> events_;
  std::exception_ptr error_;
  bool stop_ = false;

  std::vector<BucketEvent> finished_events_;
  std::thread device_thread_;
  std::thread reduce_thread_;
  std::thread gather_thread_;
};

GradientBuckets::Engine::Engine(device::Backend& backend, Communicator& communicator,
                                Tensor gradients, std::span<const int64_t> boundaries,
                                const BucketOptions& options, Update update)
    : backend_(backend),
      communicator_(communicator.duplicate()),
      gather_communicator_(options.gathered_weights && !alone() ? communicator.duplicate()
                                                                : nullptr),
      gradients_(gradients),
      options_(options),
      update_(std::move(update)),
      buckets_(make_buckets(boundaries, options)),
      converts_(!alone() && options.reduce_dtype != gradients.dtype),
      norms_(backend, (buckets_.size() + 1) * sizeof(double)),
      missing_(buckets_.size()),
      final_events_(buckets_.size()) {
  if (!alone() && !backend.memory_is_host()) {
    fail(
        "ranks add up gradients in host memory, and backend {} keeps them on its device: run one "
        "rank",
        backend.name());
  }
  if (buckets_.back().end != gradients.size()) {
    fail("bucket boundaries end at {}, the gradients at {}", buckets_.back().end, gradients.size());
  }
  if (options.clip != ClipMode::kNone && !(options.max_norm > 0)) {
    fail("max_norm is {}: clipping needs a norm above 0", options.max_norm);
  }
  if (options.gathered_weights && options.gathered_weights.size() != gradients.size()) {
    fail("{} weights to gather for {} gradients: they must be equally many",
         options.gathered_weights.size(), gradients.size());
  }
  if (converts_) {
    int64_t largest = 0;
    for (const BucketRange& bucket : buckets_) largest = std::max(largest, bucket.size());
    for (int i = 0; i < std::min(kStagingBuffers, count()); ++i) {
      staging_.emplace_back(backend, static_cast<size_t>(largest) * size_of(options.reduce_dtype));
    }
  }
  begin_next_step();
  device_thread_ = std::thread([this] { run_thread([this] { device_loop(); }); });
  if (!alone()) reduce_thread_ = std::thread([this] { run_thread([this] { reduce_loop(); }); });
  if (sharded()) gather_thread_ = std::thread([this] { run_thread([this] { gather_loop(); }); });
}

GradientBuckets::Engine::~Engine() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  device_thread_.join();
  if (reduce_thread_.joinable()) reduce_thread_.join();
  if (gather_thread_.joinable()) gather_thread_.join();
}

// ---- The compute thread's side.

void GradientBuckets::Engine::gradients_final(int64_t begin, int64_t end) {
  if (begin < 0 || begin > end || end > gradients_.size()) {
    fail("gradients [{}, {}) reported final lie outside the arena of {}", begin, end,
         gradients_.size());
  }
  const device::Event event = backend_.record(Stream::kCompute);
  {
    const std::lock_guard lock(mutex_);
    for (int bucket = 0; bucket < count(); ++bucket) {
      const BucketRange& range = buckets_[bucket];
      const int64_t reported = std::min(end, range.end) - std::max(begin, range.begin);
      if (reported <= 0) continue;
      if (reported > missing_[bucket]) {
        fail("gradients [{}, {}) were reported final twice in one step", begin, end);
      }
      missing_[bucket] -= reported;
      final_events_[bucket] = event;
    }
  }
  changed_.notify_all();
}

StepTimes GradientBuckets::Engine::finish_step() {
  const int64_t wait_begin = now_ns();
  std::unique_lock lock(mutex_);
  if (!error_) check_everything_reported();
  changed_.wait(lock, [this] { return error_ || finished(); });
  if (error_) std::rethrow_exception(error_);
  backend_.synchronize(Stream::kReduce);
  const StepTimes times = summarize(wait_begin, now_ns());
  begin_next_step();
  return times;
}

void GradientBuckets::Engine::check_everything_reported() const {
  for (int bucket = 0; bucket < count(); ++bucket) {
    if (!is_final(bucket)) {
      fail("finish_step: {} gradients of [{}, {}) were not reported final", missing_[bucket],
           buckets_[bucket].begin, buckets_[bucket].end);
    }
  }
}

StepTimes GradientBuckets::Engine::summarize(int64_t wait_begin, int64_t wait_end) {
  StepTimes times;
  times.gradient_norm = gradient_norm();
  times.wait_seconds = seconds(wait_end - wait_begin);
  for (const BucketEvent& event : events_) {
    const double duration = seconds(event.end_ns - event.begin_ns);
    switch (event.phase) {
      case BucketPhase::kClip:
      case BucketPhase::kNorm:
        times.clip_seconds += duration;
        break;
      case BucketPhase::kUpdate:
        times.update_seconds += duration;
        break;
      case BucketPhase::kReduce:
      case BucketPhase::kGather:
        times.communication_seconds += duration;
        break;
    }
  }
  times.exposed_communication_seconds = seconds(exposed_communication_ns(events_, wait_begin));
  return times;
}

// After the step, when the device thread has nothing to do.
std::optional<double> GradientBuckets::Engine::gradient_norm() {
  if (options_.clip == ClipMode::kNone) return std::nullopt;
  std::vector<double> norms(buckets_.size() + 1);
  backend_.copy_to_host(Stream::kReduce, norms.data(), norms_.data(), norms_.bytes());
  backend_.synchronize(Stream::kReduce);
  const double all = norms.back();
  norms.pop_back();
  switch (options_.clip) {
    case ClipMode::kBucketBeforeAllReduce: {
      double sum = 0;
      for (const double norm : norms) sum += norm;
      return std::sqrt(sum);
    }
    case ClipMode::kAfterAllReduce:
      return std::sqrt(all) / communicator_->size();
    default:
      return std::sqrt(all);
  }
}

void GradientBuckets::Engine::begin_next_step() {
  for (int bucket = 0; bucket < count(); ++bucket) missing_[bucket] = buckets_[bucket].size();
  progress_ = {};
  finished_events_ = std::exchange(events_, {});
}

// ---- The engine's threads.

template <typename Body>
void GradientBuckets::Engine::run_thread(Body body) {
  try {
    body();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
    stop_ = true;
  }
  changed_.notify_all();
}

void GradientBuckets::Engine::device_loop() {
  for (;;) {
    Work work = Work::kNone;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] {
        work = next_device_work();
        return stop_ || work != Work::kNone;
      });
      if (stop_) return;
    }
    perform(work);
    {
      const std::lock_guard lock(mutex_);
      complete(work);
    }
    changed_.notify_all();
  }
}

// Feeding the all-reduce comes first: it has the longest way to go.
GradientBuckets::Engine::Work GradientBuckets::Engine::next_device_work() const {
  const Progress& p = progress_;
  const bool global_norm = options_.clip == ClipMode::kAfterAllReduce;
  if (options_.clip == ClipMode::kBeforeAllReduce && p.measured < count() && is_final(p.measured)) {
    return Work::kMeasure;
  }
  if (p.prepared < count() && may_prepare(p.prepared)) return Work::kPrepare;
  if (p.collected < p.reduced) return Work::kCollect;
  if (global_norm && p.collected == count() && !p.norm_published) return Work::kPublishNorm;
  if (p.updated < count() && may_update(p.updated)) return Work::kUpdate;
  return Work::kNone;
}

bool GradientBuckets::Engine::may_prepare(int bucket) const {
  if (options_.clip == ClipMode::kBeforeAllReduce && progress_.measured < count()) return false;
  if (converts_ && bucket - progress_.collected >= static_cast<int>(staging_.size())) return false;
  return is_final(bucket);
}

// Updates take from backward the cores and the bandwidth it needs; after it they fill the wait for
// the last all-reduces. Weights that must still be gathered cannot wait.
bool GradientBuckets::Engine::may_update(int bucket) const {
  if (options_.clip == ClipMode::kAfterAllReduce) return progress_.norm_known;
  return bucket < progress_.collected && (sharded() || backward_ended());
}

void GradientBuckets::Engine::perform(Work work) {
  switch (work) {
    case Work::kMeasure:
      return timed(progress_.measured, BucketPhase::kClip, [this] { measure(progress_.measured); });
    case Work::kPrepare:
      return timed(progress_.prepared, BucketPhase::kClip, [this] { prepare(progress_.prepared); });
    case Work::kCollect:
      return timed(progress_.collected, BucketPhase::kNorm,
                   [this] { collect(progress_.collected); });
    case Work::kPublishNorm:
      return publish_norm();
    case Work::kUpdate:
      return timed(progress_.updated, BucketPhase::kUpdate, [this] { update(progress_.updated); });
    case Work::kNone:
      return;
  }
}

void GradientBuckets::Engine::complete(Work work) {
  switch (work) {
    case Work::kMeasure:
      ++progress_.measured;
      return;
    case Work::kPrepare:
      ++progress_.prepared;
      if (alone()) ++progress_.reduced;
      return;
    case Work::kCollect:
      ++progress_.collected;
      return;
    case Work::kPublishNorm:
      progress_.norm_published = true;
      if (alone()) progress_.norm_known = true;
      return;
    case Work::kUpdate:
      ++progress_.updated;
      return;
    case Work::kNone:
      return;
  }
}

void GradientBuckets::Engine::reduce_loop() {
  for (;;) {
    bool norm = false;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] {
        norm = progress_.norm_published && !progress_.norm_known;
        return stop_ || norm || progress_.reduced < progress_.prepared;
      });
      if (stop_) return;
    }
    if (norm) {
      timed(kNormExchange, BucketPhase::kReduce,
            [this] { communicator_->all_reduce_sum(&host_norm_squared_, 1, device::DType::kF64); });
    } else {
      const int bucket = progress_.reduced;
      timed(bucket, BucketPhase::kReduce, [&] {
        const Tensor data = converts_ ? staging(bucket) : gradients(buckets_[bucket]);
        if (sharded()) {
          communicator_->reduce_scatter_sum(data.data, data.size(), data.dtype);
        } else {
          communicator_->all_reduce_sum(data.data, data.size(), data.dtype);
        }
      });
    }
    {
      const std::lock_guard lock(mutex_);
      if (norm) {
        progress_.norm_known = true;
      } else {
        ++progress_.reduced;
      }
    }
    changed_.notify_all();
  }
}

// On a communicator of its own: which of the next reduction and the next gathering comes first
// differs from rank to rank.
void GradientBuckets::Engine::gather_loop() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stop_ || progress_.gathered < progress_.updated; });
      if (stop_) return;
    }
    const int bucket = progress_.gathered;
    timed(bucket, BucketPhase::kGather, [&] {
      const Tensor weights = part_of(options_.gathered_weights, buckets_[bucket]);
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
void GradientBuckets::Engine::timed(int bucket, BucketPhase phase, Body body) {
  const int64_t begin = now_ns();
  body();
  const int64_t end = now_ns();
  const std::lock_guard lock(mutex_);
  events_.push_back({bucket, phase, begin, end});
}

// ---- What happens to a bucket, in order.

void GradientBuckets::Engine::measure(int bucket) {
  backend_.wait(Stream::kReduce, final_events_[bucket]);
  if (bucket == 0) backend_.fill_zero(Stream::kReduce, global_norm_squared(), sizeof(double));
  add_norm(buckets_[bucket], global_norm_squared());
}

void GradientBuckets::Engine::prepare(int bucket) {
  backend_.wait(Stream::kReduce, final_events_[bucket]);
  if (options_.clip == ClipMode::kBeforeAllReduce) {
    clip(bucket, global_norm_squared(), options_.max_norm);
  }
  if (options_.clip == ClipMode::kBucketBeforeAllReduce) {
    backend_.fill_zero(Stream::kReduce, norm_squared(bucket), sizeof(double));
    add_norm(buckets_[bucket], norm_squared(bucket));
    clip(bucket, norm_squared(bucket),
         options_.max_norm / std::sqrt(static_cast<float>(buckets_.size())));
  }
  if (converts_) {
    backend_.convert(Stream::kReduce,
                     {.source = gradients(buckets_[bucket]), .destination = staging(bucket)});
  }
  if (!alone()) backend_.synchronize(Stream::kReduce);
}

// Each rank measures its own slice; adding the slices gives every rank the same bits, however its
// device adds them up.
void GradientBuckets::Engine::collect(int bucket) {
  if (converts_) {
    const BucketRange range = updated_range(bucket);
    const int64_t begin = range.begin - buckets_[bucket].begin;
    backend_.convert(Stream::kReduce,
                     {.source = part_of(staging(bucket), {begin, begin + range.size()}),
                      .destination = gradients(range)});
    backend_.synchronize(Stream::kReduce);
  }
  if (options_.clip == ClipMode::kAfterAllReduce) {
    if (bucket == 0) backend_.fill_zero(Stream::kReduce, global_norm_squared(), sizeof(double));
    add_norm(own_slice(buckets_[bucket], *communicator_), global_norm_squared());
  }
}

void GradientBuckets::Engine::publish_norm() {
  if (alone()) return;
  backend_.copy_to_host(Stream::kReduce, &host_norm_squared_, global_norm_squared(),
                        sizeof(double));
  backend_.synchronize(Stream::kReduce);
}

void GradientBuckets::Engine::update(int bucket) {
  const float ranks = static_cast<float>(communicator_->size());
  const BucketRange range = updated_range(bucket);
  ReducedGradients reduced{.begin = range.begin, .end = range.end, .gradient_scale = 1.0f / ranks};
  if (options_.clip == ClipMode::kAfterAllReduce) {
    if (bucket == 0 && !alone()) {
      backend_.copy_to_device(Stream::kReduce, global_norm_squared(), &host_norm_squared_,
                              sizeof(double));
    }
    reduced.norm_squared = global_norm_squared();
    reduced.max_norm = options_.max_norm * ranks;
  }
  if (range.size() > 0) update_(reduced);
  clear_gradients(buckets_[bucket].begin, range.begin);
  clear_gradients(range.end, buckets_[bucket].end);
  if (sharded()) backend_.synchronize(Stream::kReduce);
}

BucketRange GradientBuckets::Engine::updated_range(int bucket) const {
  return sharded() ? own_slice(buckets_[bucket], *communicator_) : buckets_[bucket];
}

void GradientBuckets::Engine::clear_gradients(int64_t begin, int64_t end) {
  if (begin == end) return;
  const Tensor others = gradients({begin, end});
  backend_.fill_zero(Stream::kReduce, others.data, others.bytes());
}

void GradientBuckets::Engine::clip(int bucket, double* norm_squared, float max_norm) {
  backend_.clip_to_norm(
      Stream::kReduce,
      {.x = gradients(buckets_[bucket]), .norm_squared = norm_squared, .max_norm = max_norm});
}

void GradientBuckets::Engine::add_norm(const BucketRange& range, double* norm_squared) {
  if (range.size() == 0) return;
  backend_.l2_norm_squared(Stream::kReduce, {.x = gradients(range), .norm_squared = norm_squared});
}

Tensor GradientBuckets::Engine::gradients(const BucketRange& range) const {
  return part_of(gradients_, range);
}

Tensor GradientBuckets::Engine::staging(int bucket) const {
  return {staging_[bucket % staging_.size()].data(), options_.reduce_dtype, 1,
          buckets_[bucket].size()};
}

// ---- The public face.

std::vector<BucketRange> make_buckets(std::span<const int64_t> boundaries,
                                      const BucketOptions& options) {
  const auto element_bytes = static_cast<int64_t>(size_of(options.reduce_dtype));
  return make_buckets(boundaries, std::max<int64_t>(1, options.bucket_bytes / element_bytes));
}

BucketRange own_slice(const BucketRange& bucket, const Communicator& communicator) {
  const Slice slice = slice_of(bucket.size(), communicator.rank(), communicator.size());
  return {bucket.begin + slice.begin, bucket.begin + slice.end};
}

GradientBuckets::GradientBuckets(device::Backend& backend, Communicator& communicator,
                                 Tensor gradients, std::span<const int64_t> boundaries,
                                 const BucketOptions& options, Update update)
    : engine_(std::make_unique<Engine>(backend, communicator, gradients, boundaries, options,
                                       std::move(update))) {}

GradientBuckets::~GradientBuckets() = default;

void GradientBuckets::gradients_final(int64_t begin, int64_t end) {
  engine_->gradients_final(begin, end);
}

StepTimes GradientBuckets::finish_step() { return engine_->finish_step(); }

const std::vector<BucketRange>& GradientBuckets::buckets() const { return engine_->buckets(); }

const std::vector<BucketEvent>& GradientBuckets::events() const { return engine_->events(); }

}  // namespace strata::comm
