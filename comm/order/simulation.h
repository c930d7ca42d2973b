// Simulates ranks that run lists of operations: when does each operation begin and end? Pure
// arithmetic, in seconds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/order/operation.h"
#include "comm/order/operation_times.h"

namespace strata::comm {

// Which executor a rank has: make_thread_executor() or make_stream_executor().
enum class SimulatedExecutor : uint8_t { kThreads, kStreams };

struct OperationCost {
  // Seconds that the operation takes alone. A collective takes them once all its ranks have begun
  // it, a message once the rank's earlier messages have left.
  double seconds = 0;
  // Seconds that a collective or a message takes besides, without a share of the link's bandwidth.
  double latency = 0;
  // Operations of several ranks that belong together. A collective's communicator: its collectives
  // meet in the order of each rank's list. A message's number: the send and the receive have the
  // same. kNoObject: no other rank takes part.
  int meets = kNoObject;
};

// Ranks that do equal work at equal times, simulated as one: all replicas of a stage, or all ranks.
struct SimulatedRank {
  const OperationList* list = nullptr;
  std::vector<OperationCost> costs;  // [operations]
};

struct SimulationOptions {
  SimulatedExecutor executor = SimulatedExecutor::kThreads;
  // Speed of kCompute while the rank takes part in a collective, as a share of its speed alone: the
  // collective takes processors from it.
  double compute_speed_beside_collectives = 1;
};

struct SimulatedSpan {
  double begin = 0, end = 0;
};

struct SimulatedStep {
  double seconds = 0;
  // [ranks][operations] A collective's span includes the wait for other ranks. A send's begins when
  // the message leaves; a send's and a receive's end when it has arrived.
  std::vector<std::vector<SimulatedSpan>> spans;
};

// Collectives and messages of a rank that are under way at once share its link evenly; a received
// message takes no share. Throws Error with an operation's name if ranks wait for each other for
// ever, or if costs do not fit the lists.
SimulatedStep simulate(std::span<const SimulatedRank> ranks, const SimulationOptions& options);

// Returns the spans of the operations that executors time, in order of completion.
std::vector<OperationTime> operation_times(const OperationList& list,
                                           std::span<const SimulatedSpan> spans);

}  // namespace strata::comm
