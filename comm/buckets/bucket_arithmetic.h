// What is computed on buckets of gradients before and after their reduction.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "comm/buckets/bucket_plan.h"
#include "device/memory/buffer.h"
#include "device/memory/flat_sum.h"

namespace strata::comm {

// Operations on Stream::kReduce. Ranks shard the work as `communicator` counts them. They exchange
// nothing here but how many buckets the parts of the model have.
class BucketArithmetic {
 public:
  // `backend`, `communicator` and `plan`, which is made of the same options, outlive it.
  BucketArithmetic(device::Backend& backend, const Communicator& communicator,
                   const BucketPlan& plan, const device::Arena& gradients,
                   const BucketOptions& options);

  // Memory that a bucket is converted to before it is reduced.
  size_t staging_bytes() const;
  // What is reduced of a bucket; `staging` where gradients are converted.
  device::Tensor reduce_buffer(int bucket, void* staging) const;

  // Between steps: see GradientBuckets.
  void scale_loss(float scale) { loss_scale_ = scale; }

  // Takes the norm of a bucket of this rank's gradients. With `whole`, adds it to that of all,
  // which bucket 0 begins.
  void norm(int bucket, bool whole);
  // Clips as the rule says, unless this is a single rank, whose update clips, and casts to the
  // reduced dtype. Leaves the bucket in its reduce_buffer.
  void clip_and_cast(int bucket, void* staging);
  // Casts back what was reduced, or takes it to gradient_shards. After the last round, adds this
  // rank's shard of it to the norm of the sums, if there is one, unless the bucket is of the tied
  // rows' table.
  void cast_back(int bucket, int round, void* staging);
  // Adds the tied rows' table to it, once its rows have been added.
  void add_table_norm();
  // Where the loss is scaled: whether this rank's gradients, or its shard of the sums, are not
  // finite, in what has been clipped and cast back. Norms tell; if the rule takes none of what is
  // applied, cast_back takes that of the shard. Waits for Stream::kReduce.
  bool overflowed();
  // ClipNorms::whole.
  double* whole_norm_squared() const { return norms_.as<double>() + plan_.count(); }
  // What remains to be applied of a bucket, on Stream::kReduce.
  ReducedGradients reduced(int bucket) const;
  // The weights to gather once a bucket is updated.
  device::Tensor gathered_weights(int bucket) const;
  // Waits for Stream::kReduce. Ranks that have parts of the model call together.
  std::optional<double> gradient_norm();

 private:
  const Range& bucket_range(int bucket) const { return plan_.buckets[static_cast<size_t>(bucket)]; }
  // Sums of this rank's shard.
  device::Tensor sums(const Range& range) const;
  device::Tensor gradients(const Range& range) const { return elements_of(gradients_, range); }
  Range updated_range(int bucket) const;
  ClipNorms norms() const;
  // Of this rank's shard of the sum, where it does not clip but may overflow.
  double* checked_norm_squared() const { return whole_norm_squared() + 1; }
  // Where cast_back adds the norm of this rank's shard of the sums to; null: nowhere.
  double* norm_of_sums() const;
  std::vector<double> read_norms();  // waits for Stream::kReduce
  void add_norm(const device::Tensor& x, double* norm_squared);

  device::Backend& backend_;
  const Communicator& communicator_;
  const BucketPlan& plan_;
  device::Arena gradients_;
  BucketOptions options_;
  int64_t all_buckets_;            // of all parts of the model
  device::Buffer norms_;           // [K + 2] doubles: of every bucket, of all, of the checked sums
  device::HostBuffer host_norms_;  // the same, for read_norms()
  float loss_scale_ = 1;
  std::optional<device::FlatSum> sum_;  // with several rounds
};

}  // namespace strata::comm
