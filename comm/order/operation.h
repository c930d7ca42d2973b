// A step as a list of operations: what is done, where, and after what.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace strata::comm {

// Where an operation runs. A lane runs one operation at a time.
enum class Lane : uint8_t {
  kCompute,      // forward and backward
  kArithmetic,   // norms, clipping, conversion, updates
  kCollectives,  // what ranks reduce, in list order on every rank
  kGathers,      // weights that come from the ranks that keep them, in list order on every rank
  kMessages,     // begins a message between stages, which then travels beside other work
};
inline constexpr size_t kLanes = 5;
const char* name_of(Lane lane);

struct Operation {
  enum class Kind : uint8_t {
    // ---- The object is a block; they are of a micro-batch.
    kGather,           // gather the weights of the block's unit from the ranks that keep them
    kForward,          // forward
    kRecompute,        // the same forward again, for what backward reads
    kBackward,         // backward
    kBackwardHalf,     // its first part, which completes the first half of the block's gradients
    kBackwardRest,     // its second part
    kStash,            // keep the block's weights for a backward in a later step
    kReady,            // the block's gradients, or a bucket's, are complete, or a round of them
    kFreeze,           // the same of a block that the step does not update: clear its gradients
    kReceiveInput,     // of the block, which its forward waits for
    kSendOutput,       // of the block
    kReceiveGradient,  // of the block's output, which its backward waits for
    kSendGradient,     // of the block's input
    // ---- They have no object.
    kEndBackward,  // all gradients are complete, all messages have arrived
    kTouchedRows,  // it is known which tied-embedding rows this rank touches
    kRowsReady,    // the gradients of these rows are complete
    // ---- The object is a bucket, or kNoObject; they are of a round.
    kNorm,            // add the bucket's gradients to a norm that clips
    kClip,            // clip, convert to the dtype that is reduced
    kReduce,          // all-reduce or reduce-scatter
    kCastBack,        // convert back, add to this rank's shard, take the norm of the sums
    kReduceNorm,      // add up the norm that clips
    kCheckOverflow,   // look for gradients that are not finite
    kReduceOverflow,  // learn whether any rank found some
    kReduceTouched,   // learn which tied-embedding rows any rank touches
    kCollectRows,     // pack this rank's part of these rows
    kReduceRows,      // add up the rows
    kAddRows,         // add them to the table's gradient
    kUpdate,          // the optimizer's update
    kReduceSums,      // add up what the rest of the update needs
    kFinishUpdate,    // the rest of the update
    kGatherUpdated,   // gather updated weights from the ranks that updated them
  };
  Kind kind = Kind::kForward;
  int object = -1;                 // a block's index or a bucket's; kNoObject: it has none
  int round = 0;                   // micro-batch, or round of the bucket's reductions
  Lane lane = Lane::kCompute;      // where it runs
  std::vector<int> after = {};     // operations that must be done first, by their place in the list
  std::function<void()> run = {};  // empty: external, somebody says when it is done
  // Whether device graphs may contain it: no other rank takes part in it.
  bool may_be_captured = false;
};
inline constexpr int kNoObject = -1;

const char* name_of(Operation::Kind kind);
// Whether the object, if there is one, is a bucket.
inline bool is_of_bucket(Operation::Kind kind) { return kind >= Operation::Kind::kNorm; }

// Whether executors time it. Forward and backward are timed by what they mark themselves.
inline bool is_timed(const Operation& operation) {
  return is_of_bucket(operation.kind) || operation.lane == Lane::kGathers;
}

// Operations in an order in which one thread could run them. An earlier one goes first where a lane
// can choose, so that the list's order is priority.
class OperationList {
 public:
  // Returns its place. Throws Error where it is to come after a place that is not in the list yet.
  int add(Operation operation);

  int size() const { return static_cast<int>(operations_.size()); }
  const Operation& operator[](int place) const { return operations_[static_cast<size_t>(place)]; }
  const std::vector<Operation>& operations() const { return operations_; }
  // The operations that come after one, and the operations of a lane; both rise.
  const std::vector<int>& followers(int place) const {
    return followers_[static_cast<size_t>(place)];
  }
  const std::vector<int>& lane(Lane lane) const { return lanes_[static_cast<size_t>(lane)]; }
  // Whether an operation of another lane comes after it.
  bool crosses_lanes(int place) const;
  // The first kEndBackward.
  int end_of_backward() const { return end_of_backward_; }

 private:
  std::vector<Operation> operations_;
  std::vector<std::vector<int>> followers_;
  std::array<std::vector<int>, kLanes> lanes_;
  int end_of_backward_ = -1;
};

}  // namespace strata::comm
