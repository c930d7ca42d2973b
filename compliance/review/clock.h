// Checks that a run's clock never stopped, and that everything timed lies within it.
#pragma once

#include <string>
#include <vector>

#include "compliance/review/run_record.h"

namespace strata::compliance {

// Ids
// - review/clock/resumed: Strata's log says that the run was interrupted and resumed.
// - review/clock/restarted: a block starts again, a second or more after it started, without a stop
//   in between. Judged if blocks have numbers and one process logs them.
// - review/clock/pause: the time from one evaluation to the next, or from the last to run_stop, is
//   more than 2.5 times what the median pace takes for the same progress (epoch_num), and exceeds
//   that by at least a hundredth of the run. Requires five such times. The clock may not be paused.
// - review/clock/steps-back: an evaluation comes after fewer epochs or samples than the one before.
// - review/clock/evaluation-outside: an evaluation is reported more than 10 ms before run_start or
//   after run_stop. The rules let minigo and Stable Diffusion evaluate after the run, the latter
//   in any order.
// - review/clock/order: the times of init_start, init_stop, run_start and run_stop, or of
//   cache_clear and run_start, are not in this order.
// - review/clock/no-time: run_start and run_stop have the same time.
// - review/clock/apart: the log's first event is more than a day before init_start.
// - review/clock/unit: times are no dates from 2000 to 2099. They would be dates in seconds, micro-
//   or nanoseconds, or their clock was not set or has wrapped around. Logs whose times all count
//   from their start are skipped.
// - review/clock/disorder: in a log of one process an end is earlier than its beginning, a block
//   is earlier than the one above it, or an evaluation is earlier than one with less progress.
std::vector<Doubt> review_clock(const RunRecord& record);

// Explains a time in ms that is no date and cannot count from a start. Returns an empty text for
// any other.
std::string odd_time_text(double time_ms);

}  // namespace strata::compliance
