// What the operations on buckets do.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/buckets/bucket_arithmetic.h"
#include "comm/buckets/tied_rows.h"
#include "device/links/collectives.h"

namespace strata::comm {

// A function an operation (see BucketOrder). In host memory, collectives need no stream; on a
// device they are issued on Stream::kReduce, and updates on Stream::kCompute.
class BucketWork {
 public:
  // `plan` is made of the same options. All that is given by reference outlives it; communicators
  // are duplicated, so all ranks construct together. Throws Error for what the device cannot do.
  BucketWork(device::Backend& backend, Communicator& communicator, const BucketPlan& plan,
             const device::Arena& gradients, const BucketOptions& options, BucketUpdate update,
             DeferredUpdate deferred_update);
  // On a device waits for its streams, which may still use what it owns.
  ~BucketWork();

  BucketArithmetic& arithmetic() { return arithmetic_; }
  RowExchange& rows() { return *rows_; }  // of the tied table, if there is one
  bool has_rows() const { return rows_.has_value(); }
  // Whether some rank's gradients overflowed in the last step.
  bool overflowed() const { return overflow_ > 0; }

  void norm(int bucket, bool whole) { arithmetic_.norm(bucket, whole); }
  void clip(int reduction) { arithmetic_.clip_and_cast(bucket_of(reduction), staging(reduction)); }
  void reduce(int reduction);
  void cast_back(int reduction);
  void reduce_norm(bool over_ranks);  // and over the parts of the model
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
  const std::unique_ptr<Communicator> gather_communicator_;  // null: as the others
  const std::unique_ptr<Communicator> parts_;                // null: this rank has the whole model
  const BucketUpdate update_;
  const DeferredUpdate deferred_update_;
  BucketArithmetic arithmetic_;
  std::optional<RowExchange> rows_;
  std::unique_ptr<device::Collectives> collectives_;  // null for a single rank
  // With threads, which of the next reduction and the next gathering comes first differs from rank
  // to rank: each has a communicator. On a device null: as the others.
  std::unique_ptr<device::Collectives> gather_collectives_;
  std::unique_ptr<device::Collectives> norm_collectives_;  // of the parts; null for one
  std::vector<device::Buffer> staging_;
  float overflow_ = 0;  // 1: of some rank known so far
};

}  // namespace strata::comm
