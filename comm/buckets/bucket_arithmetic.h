// Arithmetic on gradient buckets before and after their reduction: norms, clipping, casts.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "comm/buckets/bucket_plan.h"
#include "device/memory/buffer.h"
#include "device/memory/flat_sum.h"

namespace strata::comm {

// Issues its work on Stream::kReduce. Uses `communicator` only to find this rank's shards. The
// ranks of BucketOptions::parts construct together: the constructor adds up their bucket counts.
class BucketArithmetic {
 public:
  // Requires `plan` to be made from the same options. `backend`, `communicator` and `plan` must
  // outlive this object.
  BucketArithmetic(device::Backend& backend, const Communicator& communicator,
                   const BucketPlan& plan, const device::Arena& gradients,
                   const BucketOptions& options);

  // Size of a buffer for one bucket in the reduced dtype.
  size_t staging_bytes() const;
  // Returns the memory that is reduced for a bucket: `staging` if gradients are converted, else the
  // gradients.
  device::Tensor reduce_buffer(int bucket, void* staging) const;

  // Called between steps: see GradientBuckets.
  void scale_loss(float scale) { loss_scale_ = scale; }

  // Computes the norm of this rank's gradients in a bucket. With `whole`, adds them to the norm of
  // all gradients instead, which starts from zero at bucket 0.
  void norm(int bucket, bool whole);
  // Clips according to the rule and casts to the reduced dtype, into reduce_buffer(). With a single
  // rank the optimizer update clips instead.
  void clip_and_cast(int bucket, void* staging);
  // Casts the reduced bucket back, and copies or (in later rounds) adds it to gradient_shards. Adds
  // this rank's shard to the norm of the reduced gradients in the last round, if a norm is needed.
  // The tied-embedding table is added to this norm later: see add_table_norm().
  void cast_back(int bucket, int round, void* staging);
  // Adds the tied-embedding table to this norm, once the sparse rows are in the table.
  void add_table_norm();
  // Returns true if this rank's gradients, or its shard of the reduced gradients, are not finite.
  // Requires a scaled loss. Checks the clip rule's norms and, if they do not suffice, a norm that
  // cast_back() computes for this check. Waits for Stream::kReduce.
  bool overflowed();
  // Same as ClipNorms::whole.
  double* whole_norm_squared() const { return norms_.as<double>() + plan_.count(); }
  // Returns what the update of a bucket needs, with the clip it has to apply.
  ReducedGradients reduced(int bucket) const;
  // Returns the weights of a bucket to all-gather after its update.
  device::Tensor gathered_weights(int bucket) const;
  // Waits for Stream::kReduce. Collective over the ranks that hold parts of the model.
  std::optional<double> gradient_norm();

 private:
  const Range& bucket_range(int bucket) const { return plan_.buckets[static_cast<size_t>(bucket)]; }
  // Returns the memory of the reduced gradients `range`.
  device::Tensor sums(const Range& range) const;
  device::Tensor gradients(const Range& range) const { return elements_of(gradients_, range); }
  Range updated_range(int bucket) const;
  ClipNorms norms() const;
  // Norm of this rank's shard of the reduced gradients, computed only to detect overflow.
  double* checked_norm_squared() const { return whole_norm_squared() + 1; }
  // Returns the norm that cast_back() adds to, or null.
  double* norm_of_sums() const;
  std::vector<double> read_norms();  // waits for Stream::kReduce
  void add_norm(const device::Tensor& x, double* norm_squared);

  device::Backend& backend_;
  const Communicator& communicator_;
  const BucketPlan& plan_;
  device::Arena gradients_;
  BucketOptions options_;
  int64_t all_buckets_;  // number of buckets in all parts of the model
  // [K + 2] f64: squared norms of the K buckets, of all gradients and for the overflow check
  device::Buffer norms_;
  device::HostBuffer host_norms_;  // host copy for read_norms()
  float loss_scale_ = 1;
  std::optional<device::FlatSum> sum_;  // only with several rounds
};

}  // namespace strata::comm
