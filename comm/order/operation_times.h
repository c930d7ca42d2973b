// Times of operations, and a step's communication cost.
#pragma once

#include <cstdint>
#include <span>

#include "comm/order/operation.h"

namespace strata::comm {

// Timestamps are from std::chrono::steady_clock.
struct OperationTime {
  Operation::Kind kind = Operation::Kind::kClip;
  int object = kNoObject;
  Lane lane = Lane::kArithmetic;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

inline bool is_communication(const OperationTime& operation) {
  return is_communication(operation.lane);
}

// Cost of a step on this rank. Waiting for other ranks counts as communication.
struct StepTimes {
  bool measured = false;             // if false, the other members are 0
  double communication_seconds = 0;  // time in collectives and gathers of updated weights
  // Communication after backward while no bucket is clipped or updated.
  double exposed_communication_seconds = 0;
  double wait_seconds = 0;    // time from the end of backward to the end of the step
  double clip_seconds = 0;    // time in norms, clipping and conversion
  double update_seconds = 0;  // time in updates
};

// The step's backward ended at `backward_end_ns`, and the step at `end_ns`.
StepTimes step_times(std::span<const OperationTime> operations, int64_t backward_end_ns,
                     int64_t end_ns);

// Returns the time after `begin_ns` that is spent in communication and nothing else.
int64_t exposed_communication_ns(std::span<const OperationTime> operations, int64_t begin_ns);

}  // namespace strata::comm
