// The operations of a step that take gradients from backward to the optimizer.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "comm/buckets/bucket_plan.h"
#include "comm/buckets/bucket_readiness.h"
#include "comm/buckets/sharding/shared_buffers.h"
#include "comm/order/operation.h"

namespace strata::comm {

class BucketWork;

// Adds the operations on buckets to a list as backward completes gradients: clip, reduce and cast
// back for each bucket, and the updates at the end. The builder of a step calls it while it adds
// backward's operations.
class BucketOrder {
 public:
  // `work` executes the operations; null for a list that is not run. All arguments must outlive
  // this object.
  BucketOrder(OperationList& list, const BucketPlan& plan, BucketWork* work);

  // ---- For the builder of the step, in the order of its operations.

  // Returns the operation that a write of gradients `range` must wait for; nullopt if it need not
  // wait; kNoObject if this step's earlier gradients in the same memory are not ready yet.
  std::optional<int> before_writing(const Range& range);
  // Gradients `range` are complete after `operation`.
  void mark_ready(const Range& range, int operation);
  // Only with tied rows. add_touched_rows() comes before all mark_ready(): `operation` finds the
  // rows that this rank touches. mark_rows_ready(): `operation` completes these rows' gradients.
  void add_touched_rows(int operation);
  void mark_rows_ready(int operation) { rows_ready_ = operation; }
  // Adds the updates. All gradients are complete after `end_of_backward`.
  void add_updates(int end_of_backward);

  // ---- For clip rules. Each returns the operation it adds.

  enum class NormIn : uint8_t { kBucket, kWhole };
  // Adds an operation after `ready` that computes the bucket's norm, or adds it to the whole norm.
  int add_norm(int bucket, int ready, NormIn norm);
  enum class NormOf : uint8_t { kThisRank, kAllRanks };
  // All-reduces ClipNorms::whole over the parts of the model and, with kAllRanks, over the ranks.
  // Returns `after` if there is nothing to reduce.
  int add_reduce_norm(int after, NormOf norm);

 private:
  int add(Operation::Kind kind, int bucket, int round, Lane lane, std::vector<int> after,
          std::function<void()> run);
  void add_reductions();
  void add_reduction(int reduction);
  void add_cast_back();
  // Adds cast-backs until only `left` reduced buckets wait for theirs.
  void add_cast_backs(size_t left);
  int add_rows();
  int add_overflow(int after);
  int add_update(int bucket, std::vector<int> after);
  int last_cast_back() const { return cast_backs_.empty() ? kNoObject : cast_backs_.back(); }

  OperationList& list_;
  const BucketPlan& plan_;
  BucketWork* work_;
  BucketReadiness readiness_;
  SharedBuffers buffers_;
  std::vector<int> ready_;  // [buckets] operation that completed the bucket in its latest round
  int normed_ = 0;          // buckets whose norm is added, if the rule needs the whole gradient
  int before_reductions_ = kNoObject;
  int last_norm_ = kNoObject;
  int reductions_ = 0;           // number of reductions added
  std::vector<int> cast_backs_;  // cast-backs of the first reductions, in order
  std::vector<int> reduced_;     // for every added reduction, its last operation
  int rows_touched_ = kNoObject, rows_ready_ = kNoObject;
};

}  // namespace strata::comm
