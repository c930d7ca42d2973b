// What is done with gradients on their way from backward to the optimizer.
#pragma once

#include <cstdint>
#include <functional>

#include "comm/buckets/bucket_ranges.h"
#include "comm/buckets/clip_mode.h"
#include "comm/communicator.h"
#include "device/backend.h"
#include "device/memory/arena.h"

namespace strata::comm {

// A table of the arena (tied word embeddings) whose gradient has two parts. The dense part is ready
// before all other gradients and reduced first. The sparse part touches some rows only, is ready
// last, and only these rows of it are sent. Not if a rank's whole gradient is clipped before it is
// reduced, or state is sharded; in host memory.
struct TiedRows {
  Range table;            // of the arena: between two boundaries, or a boundary and the arena's end
  device::Tensor sparse;  // [rows, cols] master dtype: the sparse part; zeros between steps
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
  TiedRows tied_rows;  // an empty table: none
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
// `boundaries`): that of the arena, but first those of the tied rows' table.
std::vector<Range> make_buckets(std::span<const int64_t> boundaries, const BucketOptions& options);

// What one of several ranks updates of a bucket where the state is sharded.
Range local_shard(const Range& bucket, const Communicator& communicator);

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

}  // namespace strata::comm
