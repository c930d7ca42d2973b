// Gradients on their way from backward to the optimizer: cut into buckets, each clipped, reduced
// over the ranks and updated while backward goes on with the next.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/buckets/bucket_events.h"
#include "comm/buckets/bucket_ranges.h"
#include "comm/buckets/clip_mode.h"
#include "comm/communicator.h"
#include "device/arena.h"
#include "device/backend.h"

namespace strata::comm {

// A table of the arena (word embeddings) whose gradient has two parts. One is ready before all
// other gradients and reduced first. The other touches some rows only, is ready last, and of it
// only these rows are sent. Not where a rank's whole gradient is clipped before it is reduced, or
// state is sharded; in host memory.
struct LateRows {
  Range table;          // of the arena: between two boundaries, or a boundary and the arena's end
  device::Tensor late;  // [rows, cols] master dtype: the other part; zeros between steps
};

struct BucketOptions {
  ClipMode clip = ClipMode::kAfterAllReduce;
  float max_norm = 1.0f;
  device::DType reduce_dtype = device::DType::kF32;  // in place where gradients are of this dtype
  Accumulation accumulation;                         // of sums in bf16; in host memory
  int64_t bucket_bytes = 25'000'000;                 // of reduce_dtype, about (see make_buckets)
  // If present: optimizer state is sharded among the ranks (ZeRO stage 1, Rajbhandari et al. 2020).
  // A rank gets the sum of only its local_shard of every bucket and updates that; then these
  // weights [n] are gathered from all ranks. Nothing else of other ranks' shards changes.
  device::Tensor gathered_weights;
  LateRows late_rows;  // an empty table: none
  // If present: the ranks that each have another part of the model's gradients, these among them.
  // Norms and the number of buckets are then over all parts. Duplicated, as the ranks that reduce
  // are.
  Communicator* parts = nullptr;
  // If present: gradients are sharded, too (stage 2). A rank keeps the sums of its local shards
  // here [n, at least these], and memory for gradients is free once they are reduced: see
  // GradientBuckets::begin_writing. Not with kBeforeAllReduce, which needs all of it at once.
  device::Arena gradient_shards;
  // How often a step reduces every bucket, each time adding to gradient_shards, without which it is
  // once. More than once not with kBucketBeforeAllReduce, which clips a step's gradients.
  int rounds = 1;
  // Whether gradients are of a scaled loss (GradientBuckets::scale_loss), so that they may
  // overflow: ranks then agree, after the last bucket and ahead of all updates, on whether one did.
  bool scaled_loss = false;
  int max_ctas = 0;  // of the reductions: see device::RankGroup
};

// The buckets of these options in the order in which they are reduced (see bucket_ranges.h for
// `boundaries`): that of the arena, but first those of LateRows' table.
std::vector<Range> make_buckets(std::span<const int64_t> boundaries, const BucketOptions& options);

// What one of several ranks updates of a bucket where the state is sharded.
Range local_shard(const Range& bucket, const Communicator& communicator);

class BucketEngine;

// Gradients that are reduced: the arena holds their sum over ranks.
struct ReducedGradients {
  Range range;  // of the arena: a bucket, or this rank's shard of it
  // What of the sum is to be applied; its scale is 1 / ranks / the loss's.
  device::GradientClip clip;
  device::Stream stream = device::Stream::kReduce;  // to issue the update on
};

// Issues the update of what is reduced on the given stream.
using BucketUpdate = std::function<void(const ReducedGradients&)>;

// What remains of updates that need sums over what other ranks update (LAMB's norms of tensors),
// where the state is sharded: `sums`, to which this rank's updates add its parts, are summed over
// ranks when all buckets have been updated; `finish` is issued for every bucket then, in arena
// order, before its weights are gathered.
struct DeferredUpdate {
  device::Tensor sums;  // [n] f64, device memory; absent: updates are not deferred
  BucketUpdate finish;
};

// "In host memory": where Backend::memory_is_host(). There the engine has up to three threads: one
// issues clipping on Stream::kReduce while backward goes on (what is left then, and the updates,
// the caller of finish_step issues), one runs the reductions, one gathers weights where the state
// is sharded. Idle threads sleep. "In device memory": the caller issues everything
// on streams, and the host waits for nothing (see device/collectives.h). One rank sends and
// converts nothing, its updates clip, and in host memory it needs no threads. Buckets are reduced
// in the same order on every rank.
class GradientBuckets {
 public:
  // Called once a step for every bucket, in the order of buckets() (those of LateRows' table last),
  // once its gradients are reduced (kAfterAllReduce: once all are). In host memory by finish_step's
  // caller, or, where weights are gathered at once, also by a thread of the engine, beside
  // backward. May overwrite the gradients: the next step does, too; but gaps, where all ranks have
  // zeros, must stay zero.
  using Update = BucketUpdate;

  // `gradients` [n] master dtype, laid out in the order in which backward finishes, which may pause
  // at `boundaries`: 0, rising, ..., n. Runs of them may have the same memory by turns, if every
  // bucket lies in one. `backend` and `gradients` outlive the buckets; `communicator` is
  // duplicated, so all ranks construct together.
  GradientBuckets(device::Backend& backend, Communicator& communicator,
                  const device::Arena& gradients, std::span<const int64_t> boundaries,
                  const BucketOptions& options, Update update, DeferredUpdate deferred_update = {});
  // Waits only for work already begun; buckets not begun are forgotten.
  ~GradientBuckets();

  // Between steps, with BucketOptions::scaled_loss: the gradients of those that follow are `scale`
  // times as large as what is to be clipped and applied; a power of two, 1 at first. All ranks call
  // together.
  void scale_loss(float scale);
  // Whether some rank's gradients were not finite in the last finished step, or not in
  // reduce_dtype: then nothing was updated. The same on every rank, and false without scaled_loss.
  bool overflowed() const;

  // What the compute stream is given next may write gradients [begin, end), which lie in one run:
  // it comes after the reduction of what has had their memory before; in host memory the caller
  // waits for that. Throws Error where that was not marked ready.
  void begin_writing(int64_t begin, int64_t end);

  // Says that whatever the compute stream has been given so far completes gradients [begin, end)
  // of this step, and is the last to read these weights: their update may begin. Cheap, never
  // waits. With micro-batches: called during the last one only, or as often as there are rounds.
  // Throws Error for a range outside the arena or marked ready twice.
  void mark_ready(int64_t begin, int64_t end);

  // Of LateRows. First, ahead of every mark_ready of the step: which rows this rank touches,
  // [rows], not 0. Last: whatever the compute stream has been given so far completes them.
  void announce_rows(std::span<const uint8_t> touched);
  void mark_rows_ready();
  // That some rank touched in the last step.
  int64_t late_rows() const;

  // Whether the steps that follow are timed. In host memory all are; in device memory, finish_step
  // waits for those that are, and they must not be captured (Backend::capture).
  void time_steps(bool on);

  // What the compute stream is given next sees every bucket reduced and updated, and weights
  // gathered. In host memory, waits until they are. All times are zero where the step was not
  // timed. Rethrows what the update callback or a device operation threw; the engine is then
  // unusable. Throws Error where part of the arena was not marked ready.
  StepTimes finish_step();

  // Of the last finished step, before clipping. kAfterAllReduce: of the mean over ranks. Other clip
  // modes: of this rank's own gradient. kNone: not computed. Waits for the device; ranks that have
  // parts of the model call together.
  std::optional<double> gradient_norm();

  const std::vector<Range>& buckets() const;
  // What happened in the last finished step that was timed, in order of completion.
  const std::vector<BucketEvent>& events() const;

 private:
  std::unique_ptr<BucketEngine> engine_;
};

}  // namespace strata::comm
