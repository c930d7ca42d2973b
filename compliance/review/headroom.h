// The margin by which a submission passes or fails the check of reference convergence points, in
// evaluations, the unit that runs converge by (requested in mlcommons/training 881).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compliance/checks/convergence.h"
#include "compliance/checks/rcp.h"
#include "compliance/review/run_record.h"

namespace strata::compliance {

// Returns the median distance of two evaluations over all runs, in the benchmark's unit of
// convergence (epochs or samples), or nullopt if no log has two different counts.
std::optional<double> evaluation_distance(const std::vector<RunRecord>& runs);

struct Headroom {
  double evaluations = 0;  // the mean minus the least mean that passes; below 0: fails
  // Evaluations that all counting runs together need in addition to pass.
  double missing = 0;
};
// Empty if the check computed no numbers, or there is no distance.
std::optional<Headroom> headroom_of(const RcpVerdict& verdict, size_t counted_runs,
                                    std::optional<double> distance);

// A result of the same round, for comparison.
struct PublishedConvergence {
  std::string name;  // submitter and system
  double batch_size = 0;
  double mean = 0;  // mean to converge
};

// Returns sentences, or none: the headroom, what would make a failing submission pass, and
// `nearest` (see below), which may be empty. If the point of its batch size is missing, names the
// neighbours among the reference points. `points` may be null.
std::vector<std::string> describe_headroom(const RcpVerdict& verdict,
                                           const FolderConvergence& folder,
                                           const std::vector<RunRecord>& runs,
                                           const ReferencePoints* points,
                                           const std::string& nearest);
// Describes the two other results of the round that are nearest by batch size; empty without any.
std::string describe_nearest(double batch_size, const std::string& own,
                             const std::vector<PublishedConvergence>& published);

}  // namespace strata::compliance
