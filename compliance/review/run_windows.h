// Checks which of the existing runs were submitted (requested in mlcommons/training 848). The
// training rules' section on scoring says: of M runs, sorted by launch time, submit the N
// consecutive ones whose score is closest to the median of all such windows.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "compliance/review/run_record.h"

namespace strata::compliance {

// Every window of N out of M runs.
struct RunWindows {
  std::vector<size_t> order;   // runs sorted by launch
  std::vector<double> scores;  // score of each window in ms; infinite if too many runs failed
  double median = 0;
  size_t closest = 0;  // the first window whose score is closest to the median
};

// Returns the mean of times (ms, infinite for a failed run) without the `dropped` fastest and
// slowest, or infinity if a failed one is left.
double window_score(std::span<const double> times, int dropped);

// Empty if there are fewer runs than `wanted`, or `wanted` is 0.
RunWindows score_windows(const std::vector<RunRecord>& runs, size_t wanted, int dropped);

// Returns the share of choices of N of the runs, in any order, that score at most `score`: 10,000
// are drawn at random, always the same ones.
double chance_of_score(const std::vector<RunRecord>& runs, size_t wanted, int dropped,
                       double score);

struct RunsReview {
  std::vector<ReviewFinding> findings;
  std::vector<std::string> notes;
};

// `submitted` are the runs of the folder, `others` are runs beside them, which are not scored. Weak
// scaling has no findings, because its runs are simultaneous and may be pruned. Ids:
// - review/runs/window: the first N runs of more, or those of the folder beside more, score below
//   the median of all windows, and another window is closer to it.
// - review/runs/not-consecutive: another run was launched between them.
// - review/runs/numbering: result_N.txt do not count from 0 or 1 without gaps.
// - review/runs/same-run: two files whose run_start, run_stop and evaluations have the same times.
// - review/runs/gap: the median pause between runs is at most a quarter of the median run, yet some
//   pause has room for the longest run with a median pause on either side. Not reported if more
//   than a third of the pauses have.
RunsReview review_runs(const std::vector<RunRecord>& submitted,
                       const std::vector<RunRecord>& others, size_t wanted, int dropped,
                       bool weak_scaling = false);

// Finds files of the same run among all runs: review/runs/same-run at the later path.
std::vector<ReviewFinding> find_same_runs(const std::vector<const RunRecord*>& runs);

}  // namespace strata::compliance
