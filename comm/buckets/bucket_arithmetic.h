// Arithmetic on gradient buckets before and after their reduction: norms, clipping, casts.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "comm/buckets/bucket_plan.h"
#include "device/memory/buffer.h"
#include "device/memory/flat_sum.h"

namespace strata::comm {

// Issues operations on Stream::kReduce. `communicator` defines the shards of the work. The
// constructor exchanges only the number of buckets in each part of the model.
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

  // Computes the norm of a bucket of this rank's gradients. With `whole`, adds it to the norm of
  // all gradients, which bucket 0 resets.
  void norm(int bucket, bool whole);
  // Clips according to the rule and casts to the reduced dtype, into reduce_buffer(). With a single
  // rank the optimizer update clips instead.
  void clip_and_cast(int bucket, void* staging);
  // Casts the reduced bucket back, or adds it to gradient_shards. After the last round, adds this
  // rank's shard to the norm of the sums if that norm is needed. Leaves out the tied-embedding
  // table: see add_table_norm().
  void cast_back(int bucket, int round, void* staging);
  // Adds the tied-embedding table to the norm of the sums, after its rows were added.
  void add_table_norm();
  // Returns true if this rank's gradients, or its shard of the sums, are not finite. Requires a
  // scaled loss. The clip rule's norms tell, or else a norm that cast_back() computes for this
  // purpose. Waits for Stream::kReduce.
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
  // Returns the sums in this rank's shard.
  device::Tensor sums(const Range& range) const;
  device::Tensor gradients(const Range& range) const { return elements_of(gradients_, range); }
  Range updated_range(int bucket) const;
  ClipNorms norms() const;
  // Norm of this rank's shard of the sums, computed only to detect overflow.
  double* checked_norm_squared() const { return whole_norm_squared() + 1; }
  // Returns the norm that cast_back() adds this rank's shard of the sums to, or null.
  double* norm_of_sums() const;
  std::vector<double> read_norms();  // waits for Stream::kReduce
  void add_norm(const device::Tensor& x, double* norm_squared);

  device::Backend& backend_;
  const Communicator& communicator_;
  const BucketPlan& plan_;
  device::Arena gradients_;
  BucketOptions options_;
  int64_t all_buckets_;  // over all parts of the model
  // [K + 2] f64: norms of every bucket, of all gradients, of the checked sums
  device::Buffer norms_;
  device::HostBuffer host_norms_;  // host copy for read_norms()
  float loss_scale_ = 1;
  std::optional<device::FlatSum> sum_;  // only with several rounds
};

}  // namespace strata::comm
