#include "comm/buckets/gradient_buckets.h"

#include <utility>

#include "base/error.h"

namespace strata::comm {

using enum Operation::Kind;

GradientBuckets::GradientBuckets(device::Backend& backend, Communicator& communicator,
                                 const device::Arena& gradients,
                                 std::span<const int64_t> boundaries, const BucketOptions& options,
                                 Update update, DeferredUpdate deferred_update)
    : plan_(make_bucket_plan(options, boundaries, gradients, communicator.size(),
                             backend.memory_is_host(), static_cast<bool>(deferred_update.sums))),
      work_(backend, communicator, plan_, gradients, options, std::move(update),
            std::move(deferred_update)),
      buffers_(plan_.runs, plan_.buckets),
      readiness_(plan_.buckets, plan_.rounds),
      executor_(make_executor(backend)) {
  make_external_list();
  executor_->begin(external_);
}

void GradientBuckets::make_external_list() {
  BucketOrder order(external_, plan_, &work_);
  const auto add = [this](Operation::Kind kind, int bucket, int round, std::vector<int> after) {
    return external_.add({.kind = kind,
                          .object = bucket,
                          .round = round,
                          .after = std::move(after),
                          .may_be_captured = !plan_.exchanges()});
  };
  if (plan_.has_tied_rows) {
    touched_rows_ = add(kTouchedRows, kNoObject, 0, {});
    order.add_touched_rows(touched_rows_);
  }
  for (int round = 0; round < plan_.rounds; ++round) {
    for (int bucket = 0; bucket < plan_.count(); ++bucket) {
      const Range& range = plan_.buckets[static_cast<size_t>(bucket)];
      const std::optional<int> written = order.before_writing(range);
      ready_.push_back(
          add(kReady, bucket, round, written ? std::vector{*written} : std::vector<int>()));
      order.mark_ready(range, ready_.back());
    }
  }
  if (plan_.has_tied_rows) {
    rows_ready_ = add(kRowsReady, kNoObject, 0, {});
    order.mark_rows_ready(rows_ready_);
  }
  end_of_backward_ = add(kEndBackward, kNoObject, 0, {});
  order.add_updates(end_of_backward_);
  for (int place = 0; place < external_.size(); ++place) {
    if (external_[place].kind == kCastBack) cast_backs_.push_back(place);
  }
}

void GradientBuckets::scale_loss(float scale) {
  if (!plan_.scaled_loss) fail("scale_loss: these buckets were made without loss scaling");
  work_.arithmetic().scale_loss(scale);
}

void GradientBuckets::begin_writing(int64_t begin, int64_t end) {
  const Range range{begin, end};
  const int round = readiness_.rounds_of(buffers_.last_bucket(range));
  const int needed = round < plan_.rounds ? buffers_.reductions_before(range, round) : 0;
  if (needed == 0) return;
  const int last = (needed - 1) % plan_.count();
  if (!readiness_.is_ready(last, (needed - 1) / plan_.count())) {
    fail("gradients [{}, {}) would overwrite bucket {}, which is not ready", begin, end, last);
  }
  executor_->wait_for(cast_backs_[static_cast<size_t>(needed) - 1]);
}

void GradientBuckets::mark_ready(int64_t begin, int64_t end) {
  readiness_.mark_ready(begin, end, [this](int bucket, int round) {
    executor_->complete(ready_[static_cast<size_t>(round * plan_.count() + bucket)]);
  });
}

void GradientBuckets::announce_rows(std::span<const uint8_t> touched) {
  if (!plan_.has_tied_rows) fail("announce_rows: these buckets have no tied-embedding rows");
  work_.rows().announce(touched);
  rows_ = Rows::kAnnounced;
  executor_->complete(touched_rows_);
}

void GradientBuckets::mark_rows_ready() {
  if (rows_ != Rows::kAnnounced)
    fail("mark_rows_ready: the tied-embedding rows were not announced");
  rows_ = Rows::kReady;
  executor_->complete(rows_ready_);
}

StepTimes GradientBuckets::finish_step() {
  readiness_.check_all_ready();
  if (plan_.has_tied_rows && rows_ != Rows::kReady) {
    fail("finish_step: the tied-embedding rows are not ready");
  }
  executor_->complete(end_of_backward_);
  const StepTimes times = executor_->finish();
  readiness_.begin_next_step();
  rows_ = Rows::kNone;
  executor_->begin(external_);
  return times;
}

}  // namespace strata::comm
