// What is computed on buckets of gradients before and after their reduction.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "comm/buckets/gradient_buckets.h"

namespace strata::comm {

// Every clip mode as operations on Stream::kReduce. Ranks share out the work as `communicator`
// counts them; nothing is exchanged here.
class BucketArithmetic {
 public:
  // `backend` and `communicator` outlive it. Throws Error where options, boundaries and gradients
  // do not fit each other.
  BucketArithmetic(device::Backend& backend, const Communicator& communicator,
                   device::Tensor gradients, std::span<const int64_t> boundaries,
                   const BucketOptions& options);

  const std::vector<BucketRange>& buckets() const { return buckets_; }
  int count() const { return static_cast<int>(buckets_.size()); }
  bool alone() const { return communicator_.size() == 1; }
  bool sharded() const { return options_.gathered_weights && !alone(); }
  // Whether gradients travel in another dtype than the arena's, in memory of `staging_bytes`.
  bool converts() const { return !alone() && options_.reduce_dtype != gradients_.dtype; }
  size_t staging_bytes() const;

  // This rank's own norm, a bucket at a time: all of them before the first `prepare`.
  // kBeforeAllReduce only.
  void measure(int bucket);
  // Clips as the mode says; copies to `staging` what must be converted. Returns what to reduce.
  device::Tensor prepare(int bucket, void* staging);
  // Takes back what was reduced; adds this rank's slice of it to the global norm, if that clips.
  void collect(int bucket, void* staging);
  // The square of the norm: of this rank's gradients, or this rank's part of the sum's.
  double* global_norm_squared() const { return norm_squared(count()); }
  // What remains to be applied of a bucket.
  ReducedGradients reduced(int bucket) const;
  // The weights to gather once a bucket is updated.
  device::Tensor gathered_weights(int bucket) const;
  // Waits for Stream::kReduce.
  std::optional<double> gradient_norm();

 private:
  device::Tensor gradients(const BucketRange& range) const;
  device::Tensor travelling(int bucket, void* staging) const;
  BucketRange updated_range(int bucket) const;
  double* norm_squared(int bucket) const { return norms_.as<double>() + bucket; }
  void add_norm(const BucketRange& range, double* norm_squared);
  void clip(int bucket, double* norm_squared, float max_norm);

  device::Backend& backend_;
  const Communicator& communicator_;
  device::Tensor gradients_;
  BucketOptions options_;
  std::vector<BucketRange> buckets_;
  device::Buffer norms_;  // [K + 1] doubles: of every bucket, then of all
};

}  // namespace strata::comm
