// Settings of gradient reduction, and what the optimizer receives from it.
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
// before all other gradients and is reduced first. The sparse part has few nonzero rows, is ready
// last, and only these rows are sent. Host memory only; not with clip modes that clip before the
// all-reduce, nor with sharded state.
struct TiedRows {
  Range table;            // in the arena, between two boundaries that follow each other
  device::Tensor sparse;  // [rows, cols] master dtype: the sparse part; zeros between steps
};

struct BucketOptions {
  ClipMode clip = ClipMode::kAfterAllReduce;
  float max_norm = 1.0f;
  device::DType reduce_dtype = device::DType::kF32;  // gradients of this dtype are reduced in place
  Accumulation accumulation;          // accumulation of sums in bf16; host memory only
  int64_t bucket_bytes = 25'000'000;  // approximate size in reduce_dtype (see make_buckets)
  // Weights [n] to all-gather after their update. If present, optimizer state is sharded (ZeRO
  // stage 1, Rajbhandari et al. 2020): a rank receives the sums of its local_shard of every bucket,
  // and updates only that shard. Other arrays (masters, moments) change only in the shard.
  device::Tensor gathered_weights;
  TiedRows tied_rows;  // empty table: no tied rows
  // Connects this rank with those that hold the other parts (pipeline stages) of the model, if any.
  // Norms and the number of buckets then cover all parts. The communicator is duplicated.
  Communicator* parts = nullptr;
  // Arena [n] for sums over ranks, at least of the elements in local shards. If present, gradients
  // are sharded, too (ZeRO stage 2), and their memory may be overwritten once they are reduced: see
  // GradientBuckets::begin_writing. Not with kBeforeAllReduce, which needs all gradients at once.
  device::Arena gradient_shards;
  // How often a step reduces every bucket; later rounds add to gradient_shards. Must be 1 without
  // gradient_shards, and with kBucketBeforeAllReduce, which clips the gradients of a whole step.
  int rounds = 1;
  // True if the loss is scaled (GradientBuckets::scale_loss), so that gradients may overflow. Ranks
  // then all-reduce an overflow flag before any update; with kAfterAllReduce the norm shows it.
  bool scaled_loss = false;
  int max_ctas = 0;  // limit for the reductions: see device::RankGroup
};

// Returns the buckets in the order of their reduction: the tied-embedding table's first, then the
// others in arena order. See bucket_ranges.h for `boundaries`.
std::vector<Range> make_buckets(std::span<const int64_t> boundaries, const BucketOptions& options);

// Returns the part of a bucket that this rank updates if state is sharded; all of it on one rank.
Range local_shard(const Range& bucket, const Communicator& communicator);

// Reduced gradients: their sums over ranks lie in gradient_shards if present, else in the arena.
struct ReducedGradients {
  Range range;  // a bucket in the arena, or this rank's shard of it
  // How to clip and scale the sum; the scale is 1 / (ranks * loss scale).
  device::GradientClip clip;
  device::Stream stream = device::Stream::kReduce;  // stream to issue the update on
};

// Issues the update of reduced gradients on the given stream.
using BucketUpdate = std::function<void(const ReducedGradients&)>;

// Second part of an update that needs sums over all ranks' updates (LAMB's norms of tensors), if
// state is sharded. This rank's updates add to `sums`. After all buckets are updated, `sums` is
// all-reduced, and `finish` is called for every bucket in arena order, before its weights are
// gathered.
struct DeferredUpdate {
  device::Tensor sums;  // [n] f64, device memory; absent if updates are not deferred
  BucketUpdate finish;
};

}  // namespace strata::comm
