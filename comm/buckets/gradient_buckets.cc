#include "comm/buckets/gradient_buckets.h"

#include <algorithm>
#include <utility>

#include "comm/buckets/bucket_engine.h"

namespace strata::comm {

std::vector<Range> make_buckets(std::span<const int64_t> boundaries, const BucketOptions& options) {
  const auto element_bytes = static_cast<int64_t>(size_of(options.reduce_dtype));
  const auto elements = std::max<int64_t>(1, options.bucket_bytes / element_bytes);
  return make_buckets(boundaries, elements, options.late_rows.table);
}

Range local_shard(const Range& bucket, const Communicator& communicator) {
  const Range shard = shard_of(bucket.size(), communicator.rank(), communicator.size());
  return {bucket.begin + shard.begin, bucket.begin + shard.end};
}

GradientBuckets::GradientBuckets(device::Backend& backend, Communicator& communicator,
                                 const device::Arena& gradients,
                                 std::span<const int64_t> boundaries, const BucketOptions& options,
                                 Update update, DeferredUpdate deferred_update) {
  const auto make = backend.memory_is_host() ? make_thread_engine : make_stream_engine;
  engine_ = make(backend, communicator, gradients, boundaries, options, std::move(update),
                 std::move(deferred_update));
}

GradientBuckets::~GradientBuckets() = default;

void GradientBuckets::scale_loss(float scale) { engine_->scale_loss(scale); }

bool GradientBuckets::overflowed() const { return engine_->overflowed(); }

void GradientBuckets::begin_writing(int64_t begin, int64_t end) {
  engine_->begin_writing({begin, end});
}

void GradientBuckets::mark_ready(int64_t begin, int64_t end) { engine_->mark_ready(begin, end); }

StepTimes GradientBuckets::finish_step() { return engine_->finish_step(); }

void GradientBuckets::announce_rows(std::span<const uint8_t> touched) {
  engine_->announce_rows(touched);
}

void GradientBuckets::mark_rows_ready() { engine_->mark_rows_ready(); }

int64_t GradientBuckets::late_rows() const { return engine_->late_rows(); }

void GradientBuckets::time_steps(bool on) { engine_->time_steps(on); }

std::optional<double> GradientBuckets::gradient_norm() { return engine_->gradient_norm(); }

const std::vector<Range>& GradientBuckets::buckets() const { return engine_->buckets(); }

const std::vector<BucketEvent>& GradientBuckets::events() const { return engine_->events(); }

}  // namespace strata::comm
