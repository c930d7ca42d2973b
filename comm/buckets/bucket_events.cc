#include "comm/buckets/bucket_events.h"

#include <algorithm>
#include <vector>

namespace strata::comm {
namespace {

double seconds(int64_t nanoseconds) { return 1e-9 * static_cast<double>(nanoseconds); }

}  // namespace

StepTimes step_times(std::span<const BucketEvent> events, int64_t backward_end_ns, int64_t end_ns) {
  StepTimes times;
  times.wait_seconds = seconds(end_ns - backward_end_ns);
  for (const BucketEvent& event : events) {
    const double duration = seconds(event.end_ns - event.begin_ns);
    switch (event.phase) {
      case BucketPhase::kClip:
      case BucketPhase::kNorm:
        times.clip_seconds += duration;
        break;
      case BucketPhase::kUpdate:
      case BucketPhase::kFinish:
        times.update_seconds += duration;
        break;
      case BucketPhase::kReduce:
      case BucketPhase::kGather:
        times.communication_seconds += duration;
        break;
    }
  }
  times.exposed_communication_seconds = seconds(exposed_communication_ns(events, backward_end_ns));
  return times;
}

// A sweep over the moments at which something starts or ends.
int64_t exposed_communication_ns(std::span<const BucketEvent> events, int64_t begin_ns) {
  struct Moment {
    int64_t time_ns = 0;
    int communication = 0, work = 0;  // how many more are under way from now on
  };
  std::vector<Moment> moments;
  for (const BucketEvent& event : events) {
    if (event.end_ns <= begin_ns) continue;
    const int communication = is_communication(event.phase) ? 1 : 0, work = 1 - communication;
    moments.push_back({std::max(event.begin_ns, begin_ns), communication, work});
    moments.push_back({event.end_ns, -communication, -work});
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
