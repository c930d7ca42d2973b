// A training step as a list of operations with their lanes and dependencies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace strata::comm {

// A lane runs one operation at a time.
enum class Lane : uint8_t {
  kCompute,      // forward and backward; on a device also updates
  kArithmetic,   // norms, clipping, conversion; in host memory also updates
  kCollectives,  // reductions over ranks, in list order on every rank
  kGathers,      // all-gathers of weights from their owners, in list order on every rank
  kMessages,     // starts messages between pipeline stages, which overlap with other work
};
inline constexpr size_t kLanes = 5;
const char* name_of(Lane lane);
// True if the caller's thread, or Stream::kCompute, runs the lane.
inline bool is_callers(Lane lane) { return lane == Lane::kCompute || lane == Lane::kMessages; }
// True if the lane has collectives, whose order all ranks must keep. Messages are no collectives.
inline bool is_communication(Lane lane) {
  return lane == Lane::kCollectives || lane == Lane::kGathers;
}

struct Operation {
  enum class Kind : uint8_t {
    // ---- Operations on a block, for one micro-batch.
    kGather,  // all-gather the weights of the block's gather group
    kForward,
    kRecompute,        // repeat forward for the activations that backward reads
    kBackward,         // backward
    kBackwardHalf,     // first part of backward, which completes half of the block's gradients
    kBackwardRest,     // second part of backward
    kStash,            // keep the block's weights for a backward in a later step
    kReady,            // a block's or a bucket's gradients are complete (for this round)
    kFreeze,           // in place of kReady if the step does not update the block: clear gradients
    kReceiveInput,     // input of the block, before its forward
    kSendOutput,       // output of the block
    kReceiveGradient,  // gradient of the block's output, before its backward
    kSendGradient,     // gradient of the block's input
    // ---- Operations without an object.
    kEndBackward,  // all gradients are complete, all messages have arrived
    kTouchedRows,  // the tied-embedding rows that this rank touches are known
    kRowsReady,    // the gradients of these rows are complete
    // ---- Operations on a bucket (or kNoObject), for one round of reductions.
    kNorm,            // add the bucket's squared gradients to a norm used for clipping
    kClip,            // clip, convert to the reduced dtype
    kReduce,          // all-reduce or reduce-scatter
    kCastBack,        // convert back, add to this rank's shard, compute the norm of the sums
    kReduceNorm,      // all-reduce the norm used for clipping
    kCheckOverflow,   // check the gradients for overflow
    kReduceOverflow,  // all-reduce the overflow flag
    kReduceTouched,   // all-reduce which tied-embedding rows any rank touches
    kCollectRows,     // pack this rank's part of these rows
    kReduceRows,      // all-reduce the rows
    kAddRows,         // add the rows to the table's gradient
    kUpdate,          // optimizer update
    kReduceSums,      // all-reduce the sums that the rest of the update needs
    kFinishUpdate,    // the rest of the update
    kGatherUpdated,   // all-gather updated weights
  };
  Kind kind = Kind::kForward;
  int object = -1;  // index of a block or a bucket, or kNoObject
  int round = 0;    // micro-batch, or round of the bucket's reductions
  Lane lane = Lane::kCompute;
  std::vector<int> after = {};  // list indices of the operations that must be done first
  // Empty for an external operation, which Executor::complete() marks done.
  std::function<void()> run = {};
  // Device graphs may contain the operation, because no other rank takes part in it.
  bool may_be_captured = false;
};
inline constexpr int kNoObject = -1;

const char* name_of(Operation::Kind kind);
inline bool is_send(Operation::Kind kind) {
  return kind == Operation::Kind::kSendOutput || kind == Operation::Kind::kSendGradient;
}
inline bool is_of_bucket(Operation::Kind kind) { return kind >= Operation::Kind::kNorm; }

// Executors time these operations. Forward and backward time themselves.
inline bool is_timed(const Operation& operation) {
  return is_of_bucket(operation.kind) || operation.lane == Lane::kGathers;
}

// Operations in an order in which one thread could run them. A lane that has a choice runs the
// earliest first, so list order is priority.
class OperationList {
 public:
  // Returns the operation's index. Throws Error if the operation comes after an index not yet in
  // the list.
  int add(Operation operation);

  int size() const { return static_cast<int>(operations_.size()); }
  const Operation& operator[](int place) const { return operations_[static_cast<size_t>(place)]; }
  const std::vector<Operation>& operations() const { return operations_; }
  // followers(): operations that depend on this one. lane(): a lane's operations. Both ascending.
  const std::vector<int>& followers(int place) const {
    return followers_[static_cast<size_t>(place)];
  }
  const std::vector<int>& lane(Lane lane) const { return lanes_[static_cast<size_t>(lane)]; }
  // True if an operation of another lane depends on this one.
  bool crosses_lanes(int place) const;
  // Index of the first kEndBackward, or -1.
  int end_of_backward() const { return end_of_backward_; }

 private:
  std::vector<Operation> operations_;
  std::vector<std::vector<int>> followers_;
  std::array<std::vector<int>, kLanes> lanes_;
  int end_of_backward_ = -1;
};

}  // namespace strata::comm
