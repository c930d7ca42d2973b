// Gradients on their way from backward to the optimizer: cut into buckets, each clipped, reduced
// over the ranks and updated while backward goes on with the next.
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

// A step is a list of operations (comm/order). BucketOrder adds those of the buckets to it, as
// add_to() does to the list of a whole step. Without a model, gradients that become ready are
// external operations: mark_ready() and finish_step().
//
// In host memory, where Backend::memory_is_host(), the executor has up to three threads: one clips
// on Stream::kReduce while backward goes on, one runs the reductions, one gathers weights where the
// state is sharded. After backward the caller clips and updates. In device memory the caller issues
// everything on streams, and the host waits for nothing (see device/links/collectives.h). A single
// rank sends and converts nothing, its updates clip, and in host memory it needs no threads.
// Buckets are reduced in the same order on every rank.
class GradientBuckets {
 public:
  // Called once a step for every bucket, in the order of buckets() (those of the tied rows' table
  // last), once its gradients are reduced (kAfterAllReduce: once all are). In host memory by
  // finish_step's caller, or, where weights are gathered at once, also by a thread of the executor,
  // beside backward. May overwrite the gradients: the next step does, too; but gaps, where all
  // ranks have zeros, must stay zero.
  using Update = BucketUpdate;

  // `gradients` [n] master dtype, laid out in the order in which backward finishes, which may pause
  // at `boundaries`: 0, rising, ..., n. Runs of them may share memory, if every bucket lies in one.
  // `backend` and `gradients` outlive the buckets; `communicator` is duplicated, so all ranks
  // construct together.
  GradientBuckets(device::Backend& backend, Communicator& communicator,
                  const device::Arena& gradients, std::span<const int64_t> boundaries,
                  const BucketOptions& options, Update update, DeferredUpdate deferred_update = {});

  // Between steps, with BucketOptions::scaled_loss: the gradients of those that follow are `scale`
  // times as large as what is to be clipped and applied; a power of two, 1 at first. All ranks call
  // together.
  void scale_loss(float scale);
  // Whether some rank's gradients were not finite in the last finished step, or not in
  // reduce_dtype: then nothing was updated. The same on every rank, and false without scaled_loss.
  bool overflowed() const { return work_.overflowed(); }

  // ---- With a list of a whole step.

  // What the builder of a step calls as it adds backward's operations to `list`. Both outlive it.
  BucketOrder order(OperationList& list) { return {list, plan_, &work_}; }
  BucketWork& work() { return work_; }
  // Runs lists that have these buckets' operations.
  Executor& executor() { return *executor_; }

  // ---- Without one.

  // What the compute stream is given next may write gradients [begin, end), which lie in one run:
  // it comes after the reduction of those that have had their memory before; in host memory the
  // caller waits for that. Throws Error if these were not marked ready.
  void begin_writing(int64_t begin, int64_t end);

  // Says that whatever the compute stream has been given so far completes gradients [begin, end)
  // of this step, and is the last to read these weights: their update may begin. Cheap, never
  // waits. With micro-batches: called during the last one only, or as often as there are rounds.
  // Throws Error for a range outside the arena or marked ready twice.
  void mark_ready(int64_t begin, int64_t end);

  // With tied rows. First, ahead of every mark_ready of the step: which rows this rank touches,
  // [rows], not 0. Last: whatever the compute stream has been given so far completes them.
  void announce_rows(std::span<const uint8_t> touched);
  void mark_rows_ready();
  // How many rows some rank touched in the last step.
  int64_t tied_rows() { return work_.has_rows() ? work_.rows().rows() : 0; }

  // What the compute stream is given next sees every bucket reduced and updated, and weights
  // gathered. In host memory, waits until they are. All times are zero if the step was not
  // timed. Rethrows what the update callback or a device operation threw; the buckets are then
  // unusable. Throws Error if part of the arena was not marked ready.
  StepTimes finish_step();

  // ----

  // Whether the steps that follow are timed. In host memory all are; in device memory, the end of a
  // step waits for those that are, and they must not be captured (Backend::capture).
  void time_steps(bool on) { executor_->time_steps(on); }

  // Of the last finished step, before clipping. kAfterAllReduce: of the mean over ranks. Other clip
  // modes: of this rank's own gradient. kNone: not computed. Waits for the device; ranks that have
  // parts of the model call together.
  std::optional<double> gradient_norm() { return work_.arithmetic().gradient_norm(); }

  const BucketPlan& plan() const { return plan_; }
  const std::vector<Range>& buckets() const { return plan_.buckets; }
  // What happened in the last finished step that was timed, in order of completion.
  const std::vector<OperationTime>& times() const { return executor_->times(); }

 private:
  void make_external_list();
  void begin_external_step();

  const BucketPlan plan_;
  BucketWork work_;

  // Of steps without a list of their own.
  OperationList external_;
  SharedBuffers buffers_;
  BucketReadiness readiness_;
  std::vector<int> ready_;       // [reductions] the external operation that a bucket is ready
  std::vector<int> cast_backs_;  // [reductions]
  int touched_rows_ = kNoObject, rows_ready_ = kNoObject, end_of_backward_ = kNoObject;
  enum class Rows : uint8_t { kNone, kAnnounced, kReady };
  Rows rows_ = Rows::kNone;  // in this step

  const std::unique_ptr<Executor> executor_;  // last: its threads use what is above
};

}  // namespace strata::comm
