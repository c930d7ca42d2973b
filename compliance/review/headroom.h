// By how much a submission passes or fails the check of reference convergence points, in the units
// that a run converges by: evaluations (asked for in mlcommons/training 881).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compliance/checks/convergence.h"
#include "compliance/checks/rcp.h"
#include "compliance/review/run_record.h"

namespace strata::compliance {

// The distance from one evaluation to the next, in the benchmark's unit of convergence (epochs or
// samples): the median over all runs. Empty where no log has two counts that differ.
std::optional<double> evaluation_distance(const std::vector<RunRecord>& runs);

struct Headroom {
  double evaluations = 0;  // of the mean over the least mean that passes; below 0: fails
  // Where it fails: how many more evaluations the runs that count need, all together.
  double missing = 0;
};
// Empty where the check made no number of it, or there is no distance.
std::optional<Headroom> headroom_of(const RcpVerdict& verdict, size_t counted_runs,
                                    std::optional<double> distance);

// A result of the same round, for comparison.
struct PublishedConvergence {
  std::string name;  // submitter and system
  double batch_size = 0;
  double mean = 0;  // to converge
};

// What to say: a sentence about the headroom, what would make a failing submission pass (its batch
// size's neighbours among the reference points where the point is missing; `points` may be null),
// and `nearest` (see below), which may be empty. Empty where there is nothing to say.
std::vector<std::string> describe_headroom(const RcpVerdict& verdict,
                                           const FolderConvergence& folder,
                                           const std::vector<RunRecord>& runs,
                                           const ReferencePoints* points,
                                           const std::string& nearest);
// The two results of the round, but its own, that are nearest by batch size; empty without any.
std::string describe_nearest(double batch_size, const std::string& own,
                             const std::vector<PublishedConvergence>& published);

}  // namespace strata::compliance
