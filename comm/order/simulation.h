// Simulates ranks that run lists of operations: when does each operation begin and end? Pure
// arithmetic, in seconds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/order/operation.h"
#include "comm/order/operation_times.h"

namespace strata::comm {

// A rank has one of these executors: make_thread_executor() or make_stream_executor().
enum class SimulatedExecutor : uint8_t { kThreads, kStreams };

struct OperationCost {
  // Seconds on an idle machine. For a collective, they begin when its last rank begins it. For a
  // message, they begin when the rank's earlier messages have left.
  double seconds = 0;
  // Further seconds until a collective or a message ends. They do not occupy the link.
  double latency = 0;
  // For a collective: the number of its communicator. Ranks meet in its collectives in list order.
  // For a message: its number, the same for the send and the receive. Communicators and messages
  // are numbered separately. kNoObject: no other rank takes part.
  int meets = kNoObject;
};

// Stands for ranks that do equal work at equal times: all replicas of a stage, or all ranks.
struct SimulatedRank {
  const OperationList* list = nullptr;
  std::vector<OperationCost> costs;  // [operations]
};

struct SimulationOptions {
  SimulatedExecutor executor = SimulatedExecutor::kThreads;
  // Speed of the lane kCompute while the rank runs or waits in a collective, relative to its speed
  // otherwise: above 0, at most 1. Below 1 if collectives take processors from compute.
  double compute_speed_in_collectives = 1;
};

struct SimulatedSpan {
  double begin = 0, end = 0;
};

struct SimulatedStep {
  double seconds = 0;
  // [ranks][operations] A collective's span includes the wait for other ranks. A send begins when
  // its message starts to leave. Sends and receives end when the message has arrived.
  std::vector<std::vector<SimulatedSpan>> spans;
};

// Collectives and sent messages of a rank that are under way at once share its link evenly. Throws
// Error if an option is out of range. Throws Error naming a rank, and the operation if it is known,
// if costs do not fit the list or ranks wait for ever.
SimulatedStep simulate(std::span<const SimulatedRank> ranks, const SimulationOptions& options);

// Returns `seconds` as the whole nanoseconds of an OperationTime.
int64_t nanoseconds(double seconds);
// Returns the spans of the operations that executors time, in order of completion.
std::vector<OperationTime> operation_times(const OperationList& list,
                                           std::span<const SimulatedSpan> spans);

}  // namespace strata::comm
