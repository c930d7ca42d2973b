// Gradients are cut into buckets, which are clipped and reduced over ranks while backward computes
// the next, and then updated.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/buckets/bucket_options.h"
#include "comm/buckets/bucket_order.h"
#include "comm/buckets/bucket_plan.h"
#include "comm/buckets/bucket_readiness.h"
#include "comm/buckets/bucket_work.h"
#include "comm/order/executor.h"

namespace strata::comm {

// A step is a list of operations (comm/order). order() adds bucket operations to a model's list.
// Without a model, mark_ready() and finish_step() drive a list that the buckets make themselves.
//
// In host memory (Backend::memory_is_host()) the executor has up to three threads: one clips on
// Stream::kReduce during backward, one runs the reductions, one gathers weights if the state is
// sharded. After backward the caller clips and updates. In device memory the caller issues
// everything on streams; the host waits to check for overflow, and in staged collectives. A single
// rank converts nothing, and its updates clip; without BucketOptions::parts it sends nothing and
// needs no threads. All ranks reduce buckets in the same order.
class GradientBuckets {
 public:
  // Called once a step for every bucket, unless gradients overflow, in the order of buckets(), but
  // the tied-embedding table's last. The bucket is reduced by then; all buckets are, if the mode is
  // kAfterAllReduce or the loss scaled. Called after backward, or in host memory during it already
  // if weights are gathered right after their update. In host memory an executor thread may call.
  // May overwrite gradients. Gaps between parameters, where all ranks have zeros, must stay zero.
  using Update = BucketUpdate;

  // `gradients` [n] master dtype lie in the order in which backward completes them, range by range
  // between `boundaries` (0, ascending, ..., n). Every bucket must lie in one device::Arena::Run;
  // runs may overlap in memory. `backend` and the memory must outlive the buckets. `communicator`
  // is duplicated, so all ranks construct together.
  GradientBuckets(device::Backend& backend, Communicator& communicator,
                  const device::Arena& gradients, std::span<const int64_t> boundaries,
                  const BucketOptions& options, Update update, DeferredUpdate deferred_update = {});

  // Sets the loss scale, a power of two, of the steps that follow; initially 1. Called between
  // steps by all ranks together. Requires BucketOptions::scaled_loss.
  void scale_loss(float scale);
  // True if some rank's gradients were not finite in the last finished step, in the master dtype or
  // in reduce_dtype. Nothing was updated then. The same on every rank; always false without
  // scaled_loss.
  bool overflowed() const { return work_.overflowed(); }

  // ---- With the operation list of a whole step.

  // Returns the builder of the bucket operations in `list`. This object and `list` must outlive it.
  BucketOrder order(OperationList& list) { return {list, plan_, &work_}; }
  BucketWork& work() { return work_; }
  // Runs lists that contain these buckets' operations.
  Executor& executor() { return *executor_; }

  // ---- Without a list.

  // Lets later work on the compute stream write gradients [begin, end), which must lie in one run.
  // Waits until the gradients that used this memory before have been reduced; in host memory the
  // caller blocks. Throws Error if those were not marked ready.
  void begin_writing(int64_t begin, int64_t end);

  // Marks gradients [begin, end) of this step complete after the work issued to the compute stream
  // so far. That work must also be the last to read the weights [begin, end), because their update
  // may begin. Cheap; only staged collectives may wait. Called once a round: if there is one round,
  // in the last micro-batch. Throws Error for ranges outside the arena or ready twice in a round.
  void mark_ready(int64_t begin, int64_t end);

  // Called only with tied rows. announce_rows() comes before all calls of mark_ready() in a step:
  // `touched` [rows] is nonzero for rows that this rank touches. mark_rows_ready() comes last: the
  // work issued to the compute stream so far completes these rows.
  void announce_rows(std::span<const uint8_t> touched);
  void mark_rows_ready();
  // Returns the number of rows that some rank touched in the last step.
  int64_t tied_rows() { return work_.has_rows() ? work_.rows().rows() : 0; }

  // Makes later work on the compute stream see every bucket reduced and updated, and weights
  // gathered. In host memory, blocks until they are. All times are zero if the step was not timed.
  // Rethrows errors of the update callback or the device, after which the buckets are unusable.
  // Throws Error if part of the arena was not marked ready.
  StepTimes finish_step();

  // ---- With or without a list.

  // See Executor::time_steps.
  void time_steps(bool on) { executor_->time_steps(on); }

  // Returns the gradient norm of the last finished step, before clipping: of the mean over ranks
  // (kAfterAllReduce), of this rank's gradient (other clip modes), or nullopt (kNone). Waits for
  // the device. Ranks that hold parts of the model call together.
  std::optional<double> gradient_norm() { return work_.arithmetic().gradient_norm(); }

  const BucketPlan& plan() const { return plan_; }
  const std::vector<Range>& buckets() const { return plan_.buckets; }
  // Bucket operations and gathers of the last timed step, in order of completion.
  const std::vector<OperationTime>& times() const { return executor_->times(); }

 private:
  void make_external_list();
  void begin_external_step();

  const BucketPlan plan_;
  BucketWork work_;

  // Only used without a model's list.
  OperationList external_;
  SharedBuffers buffers_;
  BucketReadiness readiness_;
  std::vector<int> ready_;       // [reductions] the external operation that marks a bucket ready
  std::vector<int> cast_backs_;  // [reductions] the operation that casts back
  int touched_rows_ = kNoObject, rows_ready_ = kNoObject, end_of_backward_ = kNoObject;
  enum class Rows : uint8_t { kNone, kAnnounced, kReady };
  Rows rows_ = Rows::kNone;

  const std::unique_ptr<Executor> executor_;  // last member: its threads use those above
};

}  // namespace strata::comm
