#include "comm/order/operation_times.h"

#include <algorithm>
#include <vector>

namespace strata::comm {
namespace {

double seconds(int64_t nanoseconds) { return 1e-9 * static_cast<double>(nanoseconds); }

bool is_update(Operation::Kind kind) {
  return kind == Operation::Kind::kUpdate || kind == Operation::Kind::kFinishUpdate;
}

}  // namespace

StepTimes step_times(std::span<const OperationTime> operations, int64_t backward_end_ns,
                     int64_t end_ns) {
  StepTimes times{.measured = true};
  times.wait_seconds = seconds(end_ns - backward_end_ns);
  for (const OperationTime& operation : operations) {
    // Not counted, because these gathers run ahead of their use, during forward and backward.
    if (operation.kind == Operation::Kind::kGather) continue;
    double& sum = is_communication(operation) ? times.communication_seconds
                  : is_update(operation.kind) ? times.update_seconds
                                              : times.clip_seconds;
    sum += seconds(operation.end_ns - operation.begin_ns);
  }
  times.exposed_communication_seconds =
      seconds(exposed_communication_ns(operations, backward_end_ns));
  return times;
}

// Sweeps over the times at which an operation starts or ends.
int64_t exposed_communication_ns(std::span<const OperationTime> operations, int64_t begin_ns) {
  struct Moment {
    int64_t time_ns = 0;
    int communication = 0, work = 0;  // changes in the number of running operations
  };
  std::vector<Moment> moments;
  for (const OperationTime& operation : operations) {
    if (operation.end_ns <= begin_ns) continue;
    const int communication = is_communication(operation) ? 1 : 0, work = 1 - communication;
    moments.push_back({std::max(operation.begin_ns, begin_ns), communication, work});
    moments.push_back({operation.end_ns, -communication, -work});
  }
  std::sort(moments.begin(), moments.end(),
            [](const Moment& a, const Moment& b) { return a.time_ns < b.time_ns; });
  int64_t exposed = 0, last = begin_ns;
  int communication = 0, work = 0;
  for (const Moment& moment : moments) {
    if (communication > 0 && work == 0) exposed += moment.time_ns - last;
    last = moment.time_ns;
    communication += moment.communication;
    work += moment.work;
  }
  return exposed;
}

}  // namespace strata::comm
