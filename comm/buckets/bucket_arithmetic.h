// What is computed on buckets of gradients before and after their reduction.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "comm/buckets/gradient_buckets.h"
#include "device/buffer.h"
#include "device/flat_sum.h"

namespace strata::comm {

// Every clip mode as operations on Stream::kReduce. Ranks shard the work as `communicator`
// counts them; nothing is exchanged here, but how many buckets the parts of the model have.
class BucketArithmetic {
 public:
  // `backend` and `communicator` outlive it. Throws Error where options, boundaries and gradients
  // do not fit each other.
  BucketArithmetic(device::Backend& backend, const Communicator& communicator,
                   const device::Arena& gradients, std::span<const int64_t> boundaries,
                   const BucketOptions& options);

  const std::vector<Range>& buckets() const { return buckets_; }
  int count() const { return static_cast<int>(buckets_.size()); }
  bool alone() const { return communicator_.size() == 1; }
  bool sharded() const { return gathers() || keeps_shards(); }
  bool gathers() const { return options_.gathered_weights && !alone(); }
  // Whether sums lie in gradient_shards.
  bool keeps_shards() const { return options_.gradient_shards && !alone(); }
  // A step's reductions: all buckets, round after round.
  int rounds() const { return options_.rounds; }
  int reductions() const { return rounds() * count(); }
  // Whether gradients are reduced in another dtype than the arena's, in memory of `staging_bytes`.
  bool converts() const { return !alone() && options_.reduce_dtype != gradients_.memory().dtype; }
  size_t staging_bytes() const;
  // Whether it is a rank's own gradients, or its buckets of them, that are clipped.
  bool clips_own() const {
    return options_.clip == ClipMode::kBeforeAllReduce ||
           options_.clip == ClipMode::kBucketBeforeAllReduce;
  }

  // Between steps: see GradientBuckets.
  void scale_loss(float scale) { loss_scale_ = scale; }

  // Adds a bucket to this rank's own norm: all of them before the first clip_and_cast.
  // kBeforeAllReduce only.
  void local_norm(int bucket);
  // Takes the bucket's norm and clips as the mode says, but of one rank, whose update clips; casts
  // to the reduced dtype into `staging` where that is another. Returns the bucket's reduce buffer.
  device::Tensor clip_and_cast(int bucket, void* staging);
  // Casts back what was reduced, or takes it to gradient_shards; after the last round, adds this
  // rank's shard of it to the global norm, if that clips, unless the bucket is of LateRows' table.
  void cast_back(int bucket, int round, void* staging);
  // Adds LateRows' table to it, once its rows have been added.
  void add_table_norm();
  // Where the loss is scaled: whether this rank's gradients, or its shard of the sums, are not
  // finite, in what has been clipped and cast back. Norms tell, and where there are none of what is
  // applied, cast_back takes that of the shard. Waits for Stream::kReduce.
  bool overflowed();
  // Buckets of LateRows' table, which are the first.
  int table_buckets() const { return table_buckets_; }
  // The squared norm that clips: kBeforeAllReduce: of this rank's gradients; kAfterAllReduce: of
  // this rank's shard of the sum, until ranks add theirs up. Where there are parts of the model, of
  // this one, until they are added up.
  double* clip_norm_squared() const { return norm_squared(count()); }
  // What remains to be applied of a bucket.
  ReducedGradients reduced(int bucket) const;
  // The weights to gather once a bucket is updated.
  device::Tensor gathered_weights(int bucket) const;
  // Waits for Stream::kReduce. Ranks that have parts of the model call together.
  std::optional<double> gradient_norm();

 private:
  // Sums of this rank's shard.
  device::Tensor sums(const Range& range) const;
  device::Tensor gradients(const Range& range) const;
  device::Tensor reduce_buffer(int bucket, void* staging) const;
  Range updated_range(int bucket) const;
  double* norm_squared(int bucket) const { return norms_.as<double>() + bucket; }
  // Of this rank's shard of the sum, where it does not clip but may overflow.
  double* checked_norm_squared() const { return norm_squared(count() + 1); }
  // Where cast_back adds the norm of this rank's shard of the sums to; null: nowhere.
  double* norm_of_sums() const;
  std::vector<double> read_norms();  // waits for Stream::kReduce
  void add_norm(const device::Tensor& x, double* norm_squared);
  device::GradientClip own_clip(int bucket) const;  // where clips_own()

  device::Backend& backend_;
  const Communicator& communicator_;
  device::Arena gradients_;
  BucketOptions options_;
  std::vector<Range> buckets_;
  int table_buckets_;
  int64_t all_buckets_;            // of all parts of the model
  device::Buffer norms_;           // [K + 2] doubles: of every bucket, of all, of the checked sums
  device::HostBuffer host_norms_;  // the same, for read_norms()
  float loss_scale_ = 1;
  std::optional<device::FlatSum> sum_;  // with several rounds
};

}  // namespace strata::comm
