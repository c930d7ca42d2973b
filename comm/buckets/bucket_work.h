// Executes the operations on buckets.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/buckets/bucket_arithmetic.h"
#include "comm/buckets/tied_rows.h"
#include "device/links/collectives.h"

namespace strata::comm {

// Has one function per operation (see BucketOrder). On a device, collectives are issued on
// Stream::kReduce and updates on Stream::kCompute. In host memory collectives need no stream.
class BucketWork {
 public:
  // Requires `plan` to be made from the same options. All references must outlive this object.
  // Communicators are duplicated, so all ranks construct together. Throws Error if the device does
  // not support the options.
  BucketWork(device::Backend& backend, Communicator& communicator, const BucketPlan& plan,
             const device::Arena& gradients, const BucketOptions& options, BucketUpdate update,
             DeferredUpdate deferred_update);
  // On a device, waits for its streams, which may still use this object's memory.
  ~BucketWork();

  BucketArithmetic& arithmetic() { return arithmetic_; }
  RowExchange& rows() { return *rows_; }  // requires has_rows()
  bool has_rows() const { return rows_.has_value(); }
  // True if some rank's gradients overflowed in the last step.
  bool overflowed() const { return overflow_ > 0; }

  void norm(int bucket, bool whole) { arithmetic_.norm(bucket, whole); }
  void clip(int reduction) { arithmetic_.clip_and_cast(bucket_of(reduction), staging(reduction)); }
  void reduce(int reduction);
  void cast_back(int reduction);
  void reduce_norm(bool over_ranks);  // over the model's parts and, if set, also over ranks
  void add_rows();
  void check_overflow() { overflow_ = arithmetic_.overflowed() ? 1 : 0; }
  void reduce_overflow();
  void update(int bucket) { apply(update_, bucket); }
  void reduce_sums();
  void finish_update(int bucket) { apply(deferred_update_.finish, bucket); }
  void gather(int bucket);

 private:
  int bucket_of(int reduction) const { return reduction % plan_.count(); }
  void* staging(int reduction) const;
  void apply(const BucketUpdate& update, int bucket);
  void make_collectives(const BucketOptions& options);
  void connect(device::DType reduced, device::DType gathered);

  device::Backend& backend_;
  const BucketPlan& plan_;
  const std::unique_ptr<Communicator> communicator_;
  const std::unique_ptr<Communicator> gather_communicator_;  // null: gathers use communicator_
  const std::unique_ptr<Communicator> parts_;  // null if this rank has the whole model
  const BucketUpdate update_;
  const DeferredUpdate deferred_update_;
  BucketArithmetic arithmetic_;
  std::optional<RowExchange> rows_;
  std::unique_ptr<device::Collectives> collectives_;  // null for a single rank
  // On threads, reductions and gathers may start in a different order on each rank, so each kind
  // has a communicator. On a device, gathers use collectives_, and this is null.
  std::unique_ptr<device::Collectives> gather_collectives_;
  // Over the parts of the model; null if there is one part.
  std::unique_ptr<device::Collectives> norm_collectives_;
  std::vector<device::Buffer> staging_;
  float overflow_ = 0;  // 1 if gradients overflowed on this rank or, once all-reduced, on any rank
};

}  // namespace strata::comm
