#include <algorithm>
#include <exception>
#include <utility>

#include "base/error.h"
#include "comm/buckets/bucket_arithmetic.h"
#include "comm/buckets/bucket_engine.h"
#include "comm/buckets/bucket_readiness.h"
#include "comm/buckets/memory_turns.h"
#include "comm/collectives.h"
#include "device/buffer.h"

namespace strata::comm {
namespace {

using device::Stream;
using device::Tensor;

class StreamEngine final : public BucketEngine {
 public:
  StreamEngine(device::Backend& backend, Communicator& communicator, const device::Arena& gradients,
               std::span<const int64_t> boundaries, const BucketOptions& options,
               BucketUpdate update, DeferredUpdate deferred_update)
      : backend_(backend),
        communicator_(communicator.duplicate()),
        parts_(options.parts ? options.parts->duplicate() : nullptr),
        clip_(options.clip),
        scaled_(options.scaled_loss),
        update_(std::move(update)),
        deferred_update_(std::move(deferred_update)),
        arithmetic_(backend, *communicator_, gradients, boundaries, options),
        turns_(gradients, arithmetic_.buckets()),
        readiness_(arithmetic_.buckets(), arithmetic_.rounds()),
        cast_back_(arithmetic_.buckets().size()) {
    if (!arithmetic_.alone()) {
      collectives_ = make_collectives(*communicator_, backend, Stream::kReduce, options.max_ctas);
      connect(options.reduce_dtype, options.gathered_weights.dtype);
    }
    if (options.accumulation.in_bf16) {
      fail("{}: sums in bf16 are made in host memory only; use reduce.accumulate fp32",
           backend.name());
    }
    if (options.late_rows.table.size() > 0) {
      fail("{}: late rows are reduced in host memory only; use reduce.early_words false",
           backend.name());
    }
    if (parts_) {
      norm_collectives_ = make_collectives(*parts_, backend, Stream::kReduce);
      add_parts_of_norm();
      backend_.synchronize(Stream::kReduce);
    }
    if (arithmetic_.converts()) staging_ = device::Buffer(backend, arithmetic_.staging_bytes());
  }
  // Streams may still use what it owns. Where an error is on its way, they may wait for ranks that
  // never come: the communicator then ends that.
  ~StreamEngine() override {
    if ((collectives_ || norm_collectives_) && std::uncaught_exceptions() > 0) {
      collectives_.reset();
      norm_collectives_.reset();
      return;
    }
    try {
      backend_.synchronize(Stream::kReduce);
      backend_.synchronize(Stream::kCompute);
    } catch (...) {
      // Whoever uses the device next meets its error again.
    }
  }

  void scale_loss(float scale) override {
    if (!scaled_) fail("gradients of a scaled loss, which these buckets were not made for");
    arithmetic_.scale_loss(scale);
  }
  bool overflowed() const override { return overflowed_; }

  void begin_writing(const Range& range) override {
    const int round = readiness_.rounds_of(turns_.last_bucket(range));
    const int needed = round < arithmetic_.rounds() ? turns_.reductions_before(range, round) : 0;
    if (needed == 0 || error_) return;
    const int last = (needed - 1) % arithmetic_.count();
    if (reduced_ < needed) {
      fail("gradients [{}, {}) are written where bucket {} lies, which is not ready", range.begin,
           range.end, last);
    }
    backend_.wait(Stream::kCompute, cast_back_[static_cast<size_t>(last)]);
  }

  void mark_ready(int64_t begin, int64_t end) override {
    outside_capture([this, begin, end] {
      readiness_.mark_ready(begin, end, backend_.record(Stream::kCompute));
      // An error is finish_step's to tell.
      if (!error_) guarded([this] { reduce_ready_buckets(); });
    });
  }

  void announce_rows(std::span<const uint8_t>) override { fail("there are no late rows"); }
  void mark_rows_ready() override { fail("there are no late rows"); }
  int64_t late_rows() const override { return 0; }

  StepTimes finish_step() override {
    outside_capture([this] {
      if (!error_) readiness_.check_all_ready();
      if (timed_ && !error_) backward_end_ = stopwatch_->mark(Stream::kCompute);
      if (!error_) guarded([this] { apply(); });
      if (error_) std::rethrow_exception(error_);
      readiness_.begin_next_step();
      normed_ = reduced_ = 0;
    });
    return timed_ ? read_times() : StepTimes();
  }

  void time_steps(bool on) override {
    timed_ = on;
    if (on && !stopwatch_) stopwatch_ = backend_.make_stopwatch();
  }

  std::optional<double> gradient_norm() override { return arithmetic_.gradient_norm(); }
  const std::vector<Range>& buckets() const override { return arithmetic_.buckets(); }
  const std::vector<BucketEvent>& events() const override { return events_; }

 private:
  // Libraries make the connections that they need for some collective and some size when they first
  // need them: here, on zeros, rather than in the first step.
  void connect(device::DType reduced, device::DType gathered) {
    const auto sizes =
        std::minmax_element(buckets().begin(), buckets().end(),
                            [](const Range& a, const Range& b) { return a.size() < b.size(); });
    const auto widest = std::max({size_of(reduced), size_of(gathered), sizeof(double)});
    const int64_t most = std::max(sizes.second->size(), deferred_update_.sums.size());
    const device::Buffer zeros(backend_, static_cast<size_t>(most) * widest);
    for (const int64_t size : {sizes.first->size(), sizes.second->size()}) {
      if (arithmetic_.sharded()) {
        collectives_->reduce_scatter_sum(zeros.data(), size, reduced);
        if (arithmetic_.gathers()) collectives_->all_gather(zeros.data(), size, gathered);
      } else {
        collectives_->all_reduce_sum(zeros.data(), size, reduced);
      }
    }
    if (clip_ == ClipMode::kAfterAllReduce) {
      collectives_->all_reduce_sum(zeros.data(), 1, device::DType::kF64);
    }
    if (arithmetic_.sharded() && deferred_update_.sums) {
      collectives_->all_reduce_sum(zeros.data(), deferred_update_.sums.size(), device::DType::kF64);
    }
    backend_.synchronize(Stream::kReduce);
  }

  // What ranks do together is never captured: NCCL wants all of them to capture and to launch
  // it at once, which they do not, as their batches differ in shape.
  template <typename Body>
  void outside_capture(const Body& body) {
    if (arithmetic_.alone() && !parts_) {
      body();
    } else {
      backend_.outside_capture(body);
    }
  }

  template <typename Body>
  void guarded(const Body& body) {
    try {
      body();
    } catch (...) {
      error_ = std::current_exception();
    }
  }

  // Does `body`, and notes when `stream` did.
  template <typename Body>
  void timed(Stream stream, int bucket, BucketPhase phase, const Body& body) {
    if (!timed_) return body();
    const size_t begin = stopwatch_->mark(stream);
    body();
    marked_.push_back({bucket, phase, begin, stopwatch_->mark(stream)});
  }

  // Of the step that has been issued.
  StepTimes read_times() {
    const size_t end = stopwatch_->mark(Stream::kCompute);
    const std::vector<int64_t> times = stopwatch_->read();
    events_.clear();
    for (const Marked& work : marked_) {
      events_.push_back({work.bucket, work.phase, times[work.begin], times[work.end]});
    }
    marked_.clear();
    std::ranges::stable_sort(events_, {}, &BucketEvent::end_ns);
    return step_times(events_, times[backward_end_], times[end]);
  }

  void reduce_ready_buckets() {
    const int count = arithmetic_.count();
    if (clip_ == ClipMode::kBeforeAllReduce && normed_ < count) {
      for (; normed_ < count && readiness_.is_ready(normed_); ++normed_) {
        backend_.wait(Stream::kReduce, readiness_.ready_event(normed_));
        timed(Stream::kReduce, normed_, BucketPhase::kClip,
              [this] { arithmetic_.local_norm(normed_); });
      }
      if (normed_ < count) return;
      add_parts_of_norm();
    }
    while (reduced_ < arithmetic_.reductions() &&
           readiness_.is_ready(reduced_ % count, reduced_ / count)) {
      reduce(reduced_ % count, reduced_ / count);
      ++reduced_;
    }
  }

  void reduce(int bucket, int round) {
    backend_.wait(Stream::kReduce, readiness_.ready_event(bucket));
    Tensor data;
    timed(Stream::kReduce, bucket, BucketPhase::kClip,
          [&] { data = arithmetic_.clip_and_cast(bucket, staging_.data()); });
    if (!arithmetic_.alone()) {
      timed(Stream::kReduce, bucket, BucketPhase::kReduce, [&] {
        if (arithmetic_.sharded()) {
          collectives_->reduce_scatter_sum(data.data, data.size(), data.dtype);
        } else {
          collectives_->all_reduce_sum(data.data, data.size(), data.dtype);
        }
      });
    }
    timed(Stream::kReduce, bucket, BucketPhase::kNorm,
          [&] { arithmetic_.cast_back(bucket, round, staging_.data()); });
    cast_back_[static_cast<size_t>(bucket)] = backend_.record(Stream::kReduce);
  }

  // Backward has been issued, so updates may follow it on its stream: the first run while the last
  // buckets are still reduced.
  void apply() {
    if (clip_ == ClipMode::kAfterAllReduce) {
      if (!arithmetic_.alone()) {
        timed(Stream::kReduce, kNoBucket, BucketPhase::kReduce, [this] {
          collectives_->all_reduce_sum(arithmetic_.clip_norm_squared(), 1, device::DType::kF64);
        });
      }
      add_parts_of_norm();
      backend_.wait(Stream::kCompute, backend_.record(Stream::kReduce));
    }
    if (scaled_ && overflows()) {
      backend_.wait(Stream::kCompute, backend_.record(Stream::kReduce));
      return;
    }
    const bool deferred = arithmetic_.sharded() && deferred_update_.sums;
    for (int bucket = 0; bucket < arithmetic_.count(); ++bucket) {
      backend_.wait(Stream::kCompute, cast_back_[static_cast<size_t>(bucket)]);
      issue(update_, bucket, BucketPhase::kUpdate);
      if (arithmetic_.gathers() && !deferred) gather(bucket);
    }
    if (deferred) {
      backend_.wait(Stream::kReduce, backend_.record(Stream::kCompute));
      const Tensor& sums = deferred_update_.sums;
      timed(Stream::kReduce, kNoBucket, BucketPhase::kReduce,
            [&] { collectives_->all_reduce_sum(sums.data, sums.size(), sums.dtype); });
      backend_.wait(Stream::kCompute, backend_.record(Stream::kReduce));
      for (int bucket = 0; bucket < arithmetic_.count(); ++bucket) {
        issue(deferred_update_.finish, bucket, BucketPhase::kFinish);
        if (arithmetic_.gathers()) gather(bucket);
      }
    }
    if (arithmetic_.gathers()) {
      backend_.wait(Stream::kCompute, backend_.record(Stream::kReduce));
    }
  }

  // Whether to update is the host's to say: it waits for all reductions.
  bool overflows() {
    float any = arithmetic_.overflowed() ? 1 : 0;
    if (clip_ != ClipMode::kAfterAllReduce) {  // whose norm is that of all ranks
      communicator_->all_reduce_max(std::span(&any, 1));
      if (parts_) parts_->all_reduce_max(std::span(&any, 1));
    }
    overflowed_ = any > 0;
    return overflowed_;
  }

  // To the norm that clips.
  void add_parts_of_norm() {
    if (!parts_) return;
    timed(Stream::kReduce, kNoBucket, BucketPhase::kReduce, [this] {
      norm_collectives_->all_reduce_sum(arithmetic_.clip_norm_squared(), 1, device::DType::kF64);
    });
  }

  void issue(const BucketUpdate& update, int bucket, BucketPhase phase) {
    ReducedGradients reduced = arithmetic_.reduced(bucket);
    reduced.stream = Stream::kCompute;
    timed(Stream::kCompute, bucket, phase, [&] {
      if (reduced.range.size() > 0) update(reduced);
    });
  }

  void gather(int bucket) {
    backend_.wait(Stream::kReduce, backend_.record(Stream::kCompute));
    const Tensor weights = arithmetic_.gathered_weights(bucket);
    timed(Stream::kReduce, bucket, BucketPhase::kGather,
          [&] { collectives_->all_gather(weights.data, weights.size(), weights.dtype); });
  }

  // Work between two marks.
  struct Marked {
    int bucket;
    BucketPhase phase;
    size_t begin, end;
  };

  device::Backend& backend_;
  const std::unique_ptr<Communicator> communicator_;
  const std::unique_ptr<Communicator> parts_;  // null: this rank has the whole model
  const ClipMode clip_;
  const bool scaled_;  // the loss is
  const BucketUpdate update_;
  const DeferredUpdate deferred_update_;
  BucketArithmetic arithmetic_;
  std::unique_ptr<device::Collectives> collectives_;       // null for one rank
  std::unique_ptr<device::Collectives> norm_collectives_;  // of the parts; null for one
  device::Buffer staging_;
  const MemoryTurns turns_;
  BucketReadiness readiness_;
  int normed_ = 0, reduced_ = 0;  // buckets of this step, in several rounds those that are reduced
  std::vector<device::Event> cast_back_;
  std::exception_ptr error_;
  bool overflowed_ = false;  // in the last step
  bool timed_ = false;
  std::unique_ptr<device::Stopwatch> stopwatch_;  // null: no step has been timed
  size_t backward_end_ = 0;
  std::vector<Marked> marked_;  // of this step
  std::vector<BucketEvent> events_;
};

}  // namespace

std::unique_ptr<BucketEngine> make_stream_engine(device::Backend& backend,
                                                 Communicator& communicator,
                                                 const device::Arena& gradients,
                                                 std::span<const int64_t> boundaries,
                                                 const BucketOptions& options, BucketUpdate update,
                                                 DeferredUpdate deferred_update) {
  return std::make_unique<StreamEngine>(backend, communicator, gradients, boundaries, options,
                                        std::move(update), std::move(deferred_update));
}

}  // namespace strata::comm
