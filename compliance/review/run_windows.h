// Which runs were submitted, of those that there are (asked for in mlcommons/training 848; the rule
// is the training rules' section on scoring: of M runs, sorted by the time they were launched, the
// N consecutive ones whose score is closest to the median of all such windows).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "compliance/review/run_record.h"

namespace strata::compliance {

// Of M runs, every window of N.
struct RunWindows {
  std::vector<size_t> order;   // of the runs by launch
  std::vector<double> scores;  // of each window, ms; infinite where too many runs failed
  double median = 0;
  size_t closest = 0;  // the window whose score is closest to the median, the first of such
};

// The mean of times (ms, infinite for a run that failed) without the `dropped` fastest and slowest;
// infinite where one that failed is left.
double window_score(std::span<const double> times, int dropped);

// Empty where there are fewer runs than `wanted`, or none is wanted.
RunWindows score_windows(const std::vector<RunRecord>& runs, size_t wanted, int dropped);

// The share of choices of N of the runs, whatever their order, that score at most `score`: 10,000
// drawn at random, always the same ones.
double chance_of_score(const std::vector<RunRecord>& runs, size_t wanted, int dropped,
                       double score);

struct RunsReview {
  std::vector<Remark> remarks;
  std::vector<std::string> notes;
};

// `submitted`: the runs of the folder; `others`: runs beside them, which are not scored. Nothing is
// said of weak scaling, whose runs go on at once and may be pruned. Ids
// - review/runs/window: the first N runs of more, or those of the folder beside more, score below
//   the median of all windows, and another window is closer to it.
// - review/runs/not-consecutive: another run was launched between them.
// - review/runs/numbering: result_N.txt do not count from 0 or 1 without holes.
// - review/runs/same-run: two files whose run_start, run_stop and evaluations have the same times.
// - review/runs/gap: the median pause between runs is at most a quarter of the median run, yet some
//   pause has room for the longest run with a median pause on either side. Not reported where more
//   than a third of the pauses have.
RunsReview review_runs(const std::vector<RunRecord>& submitted,
                       const std::vector<RunRecord>& others, size_t wanted, int dropped,
                       bool weak_scaling = false);

// Pairs among all runs that are the same run: review/runs/same-run at the later path.
std::vector<Remark> find_same_runs(const std::vector<const RunRecord*>& runs);

}  // namespace strata::compliance
