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

// Adds to a list, as backward completes gradients, what happens to their buckets: clip, reduce,
// cast back, one after another, and in the end the updates. Whoever adds backward's operations
// calls it.
class BucketOrder {
 public:
  // `work` does what the operations say; null: they are not to be run. All outlive it.
  BucketOrder(OperationList& list, const BucketPlan& plan, BucketWork* work);

  // ---- For the builder of the step, in the order of its operations.

  // The operation after which gradients `range` may be written, if other gradients have had their
  // memory in this step.
  std::optional<int> before_writing(const Range& range);
  // Gradients `range` are complete once `operation` is done.
  void mark_ready(const Range& range, int operation);
  // With tied rows: after `operation` it is known which rows this rank touches; their gradients are
  // complete. The first comes ahead of all gradients.
  void add_touched_rows(int operation);
  void mark_rows_ready(int operation) { rows_ready_ = operation; }
  // All gradients are complete once `end_of_backward` is done. Adds the updates.
  void add_updates(int end_of_backward);

  // ---- For clip rules. They return the operation.

  enum class NormIn : uint8_t { kBucket, kWhole };
  // Adds the bucket's gradients to a norm, after `ready`.
  int add_norm(int bucket, int ready, NormIn norm);
  enum class NormOf : uint8_t { kThisRank, kAllRanks };
  // Adds up ClipNorms::whole over the parts of the model, and over the ranks that reduce unless
  // each has a norm of its own. Returns `after` if there is nothing to add up.
  int add_reduce_norm(int after, NormOf norm);

 private:
  int add(Operation::Kind kind, int bucket, int round, Lane lane, std::vector<int> after,
          std::function<void()> run);
  void add_reductions();
  void add_reduction(int reduction);
  void add_cast_back();
  // Until so many buckets are left that have been clipped, but not cast back.
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
  std::vector<int> ready_;  // [buckets] the operation that completed each, in the last round
  int normed_ = 0;          // buckets, where the rule needs all of them
  int before_reductions_ = kNoObject;
  int last_norm_ = kNoObject;
  int reductions_ = 0;           // that have been added
  std::vector<int> cast_backs_;  // of the first reductions, in order
  std::vector<int> reduced_;     // of all reductions: what the cast back comes after
  int rows_touched_ = kNoObject, rows_ready_ = kNoObject;
};

}  // namespace strata::comm
