#include "comm/buckets/bucket_order.h"

#include <utility>

#include "comm/buckets/bucket_work.h"

namespace strata::comm {

using enum Operation::Kind;

BucketOrder::BucketOrder(OperationList& list, const BucketPlan& plan, BucketWork* work)
    : list_(list),
      plan_(plan),
      work_(work),
      readiness_(plan.buckets, plan.rounds),
      buffers_(plan.runs, plan.buckets),
      ready_(plan.buckets.size(), kNoObject) {}

int BucketOrder::add(Operation::Kind kind, int bucket, int round, Lane lane, std::vector<int> after,
                     std::function<void()> run) {
  std::erase(after, kNoObject);
  return list_.add({.kind = kind,
                    .object = bucket,
                    .round = round,
                    .lane = lane,
                    .after = std::move(after),
                    .run = std::move(run),
                    .may_be_captured = !plan_.exchanges()});
}

// ---- During backward.

std::optional<int> BucketOrder::before_writing(const Range& range) {
  const int round = readiness_.rounds_of(buffers_.last_bucket(range));
  const int needed = round < plan_.rounds ? buffers_.reductions_before(range, round) : 0;
  if (needed == 0) return std::nullopt;
  while (std::ssize(cast_backs_) < std::min(needed, reductions_)) add_cast_back();
  if (std::ssize(cast_backs_) < needed) return kNoObject;
  return cast_backs_[static_cast<size_t>(needed) - 1];
}

void BucketOrder::mark_ready(const Range& range, int operation) {
  readiness_.mark_ready(range.begin, range.end,
                        [&](int bucket, int) { ready_[static_cast<size_t>(bucket)] = operation; });
  add_reductions();
}

void BucketOrder::add_reductions() {
  const auto ready = [this](int bucket) { return ready_[static_cast<size_t>(bucket)]; };
  if (plan_.rule->needs_whole_gradient()) {
    for (; normed_ < plan_.count() && readiness_.is_ready(normed_); ++normed_) {
      before_reductions_ = plan_.rule->add_before_clip(*this, normed_, ready(normed_));
      if (normed_ + 1 == plan_.count()) {
        before_reductions_ = plan_.rule->add_before_reductions(*this, before_reductions_);
      }
    }
    if (normed_ < plan_.count()) return;
  }
  while (reductions_ < plan_.reductions() &&
         readiness_.is_ready(reductions_ % plan_.count(), reductions_ / plan_.count())) {
    add_reduction(reductions_++);
  }
}

void BucketOrder::add_reduction(int reduction) {
  const int bucket = reduction % plan_.count(), round = reduction / plan_.count();
  const int ready = ready_[static_cast<size_t>(bucket)];
  const int before = plan_.rule->needs_whole_gradient()
                         ? before_reductions_
                         : plan_.rule->add_before_clip(*this, bucket, ready);
  // The staging buffer is free once an earlier bucket was cast back.
  const int emptied = plan_.converts && reduction >= plan_.in_flight()
                          ? cast_backs_[static_cast<size_t>(reduction - plan_.in_flight())]
                          : kNoObject;
  int last = add(kClip, bucket, round, Lane::kArithmetic, {ready, before, emptied},
                 [work = work_, reduction] { work->clip(reduction); });
  if (!plan_.single_rank()) {
    last = add(kReduce, bucket, round, Lane::kCollectives,
               {last, reduction == 0 ? rows_touched_ : kNoObject},
               [work = work_, reduction] { work->reduce(reduction); });
  }
  reduced_.push_back(last);
  add_cast_backs(static_cast<size_t>(plan_.in_flight()) - 1);
}

void BucketOrder::add_cast_backs(size_t left) {
  while (reduced_.size() - cast_backs_.size() > left) add_cast_back();
}

void BucketOrder::add_cast_back() {
  const auto reduction = static_cast<int>(cast_backs_.size());
  // A norm of the sums is accumulated in bucket order.
  const bool follows = plan_.rule->norms_sums() || plan_.scaled_loss || plan_.has_tied_rows;
  cast_backs_.push_back(
      add(kCastBack, reduction % plan_.count(), reduction / plan_.count(), Lane::kArithmetic,
          {reduced_[static_cast<size_t>(reduction)], follows ? last_cast_back() : kNoObject},
          [work = work_, reduction] { work->cast_back(reduction); }));
}

void BucketOrder::add_touched_rows(int operation) {
  // On every rank this is the first collective of the step.
  const Lane lane = plan_.single_rank() ? Lane::kArithmetic : Lane::kCollectives;
  rows_touched_ = add(kReduceTouched, kNoObject, 0, lane, {operation},
                      [work = work_] { work->rows().reduce_touched(); });
}

// ---- For clip rules.

// The norm of all gradients is accumulated in bucket order.
int BucketOrder::add_norm(int bucket, int ready, NormIn norm) {
  const bool whole = norm == NormIn::kWhole;
  return last_norm_ =
             add(kNorm, bucket, 0, Lane::kArithmetic, {ready, whole ? last_norm_ : kNoObject},
                 [work = work_, bucket, whole] { work->norm(bucket, whole); });
}

int BucketOrder::add_reduce_norm(int after, NormOf norm) {
  const bool over_ranks = norm == NormOf::kAllRanks && !plan_.single_rank();
  if (!over_ranks && !plan_.in_parts) return after;
  return add(kReduceNorm, kNoObject, 0, Lane::kCollectives, {after},
             [work = work_, over_ranks] { work->reduce_norm(over_ranks); });
}

// ---- Once all gradients are complete.

// In host memory, updates wait for the end of backward. Before it they would take cores and
// bandwidth from backward; after it they overlap with the last all-reduces. Updates whose weights
// are gathered right away do not wait, so that the gather starts early.
void BucketOrder::add_updates(int end_of_backward) {
  add_cast_backs(0);
  const int rows = plan_.has_tied_rows ? add_rows() : kNoObject;
  const int whole = rows == kNoObject ? last_cast_back() : rows;
  const int normed = plan_.rule->add_before_updates(*this, whole);
  const int checked =
      plan_.scaled_loss ? add_overflow(normed == kNoObject ? whole : normed) : normed;
  const bool at_once = plan_.gathers && !plan_.defers && plan_.on_host;
  std::vector<int> updates;
  for (int i = 0; i < plan_.count(); ++i) {
    const int bucket = (i + plan_.table_buckets) % plan_.count();  // the table's buckets come last
    const int last_round = plan_.reductions() - plan_.count() + bucket;
    std::vector<int> after = {checked};
    if (checked == kNoObject) after = {cast_backs_[static_cast<size_t>(last_round)]};
    if (bucket < plan_.table_buckets) after.push_back(rows);
    if (!at_once) after.push_back(end_of_backward);
    updates.push_back(add_update(bucket, std::move(after)));
  }
  if (!plan_.defers) return;
  const int sums = add(kReduceSums, kNoObject, 0, Lane::kCollectives, updates,
                       [work = work_] { work->reduce_sums(); });
  for (int bucket = 0; bucket < plan_.count(); ++bucket) {
    const int finished = add(kFinishUpdate, bucket, 0, list_[updates.front()].lane, {sums},
                             [work = work_, bucket] { work->finish_update(bucket); });
    if (plan_.gathers) {
      add(kGatherUpdated, bucket, 0, Lane::kGathers, {finished},
          [work = work_, bucket] { work->gather(bucket); });
    }
  }
}

int BucketOrder::add_update(int bucket, std::vector<int> after) {
  // On a device, updates follow backward on its stream while other buckets are reduced.
  const Lane lane = plan_.on_host ? Lane::kArithmetic : Lane::kCompute;
  const int updated = add(kUpdate, bucket, 0, lane, std::move(after),
                          [work = work_, bucket] { work->update(bucket); });
  if (plan_.gathers && !plan_.defers) {
    add(kGatherUpdated, bucket, 0, Lane::kGathers, {updated},
        [work = work_, bucket] { work->gather(bucket); });
  }
  return updated;
}

// Returns the operation that completes the table's gradient.
int BucketOrder::add_rows() {
  int last = add(kCollectRows, kNoObject, 0, Lane::kArithmetic, {rows_ready_, rows_touched_},
                 [work = work_] { work->rows().collect(); });
  if (!plan_.single_rank()) {
    last = add(kReduceRows, kNoObject, 0, Lane::kCollectives, {last},
               [work = work_] { work->rows().reduce(); });
  }
  return add(kAddRows, kNoObject, 0, Lane::kArithmetic, {last, last_cast_back()},
             [work = work_] { work->add_rows(); });
}

// Returns the operation after which this rank knows whether any rank's gradients overflowed.
int BucketOrder::add_overflow(int after) {
  const int checked = add(kCheckOverflow, kNoObject, 0, Lane::kArithmetic, {after},
                          [work = work_] { work->check_overflow(); });
  // A norm of the sums is the same on all ranks, so it needs no all-reduce.
  if (plan_.rule->norms_sums() || !plan_.exchanges()) return checked;
  return add(kReduceOverflow, kNoObject, 0, Lane::kCollectives, {checked},
             [work = work_] { work->reduce_overflow(); });
}

}  // namespace strata::comm
