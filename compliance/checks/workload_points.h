// Reference convergence points of a benchmark with another target and other data than MLPerf's,
// such as the quickstart. Runs may converge neither faster nor slower than the reference.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compliance/checks/convergence.h"
#include "compliance/checks/rcp.h"

namespace strata::compliance {

// The reference at one batch size. Counts are samples.
struct WorkloadPoint {
  double batch_size = 0;
  std::vector<double> from;  // batch sizes of the records: its own, or two that it lies between
  size_t runs = 0;           // of the reference
  double mean = 0;           // of the runs' samples to the target
  double deviation = 0;      // their sample standard deviation
  // Runs can be compared if their first evaluation is at this number of samples or before, and no
  // interval between evaluations is longer. Numbers within a batch count as its end.
  double first_evaluation = 0, evaluation_interval = 0;
};

struct MeanRange {
  double least = 0, greatest = 0;
};

// Returns the range in which the mean of so many runs lies with a probability of 98 % if they
// converge like the reference: the prediction interval of Student's t for normally distributed
// runs.
MeanRange expected_mean(const WorkloadPoint& point, size_t runs);

class WorkloadPoints {
 public:
  // `json` has the official format of reference points, with the runs' samples in "Epochs to
  // converge" and four more fields in each record: "Quality target" and "Evaluation samples", which
  // name the workload, "First evaluation" and "Evaluation interval". Throws Error with `source` if
  // it has not.
  WorkloadPoints(std::string_view json, std::string_view source);

  // Returns whether the text names one of these four fields.
  static bool has_workload(std::string_view json);

  const std::string& benchmark() const { return benchmark_; }
  const LoggedWorkload& workload() const { return workload_; }
  const std::vector<WorkloadPoint>& points() const { return points_; }  // by batch size
  // The file, as a built-in name or a path, and the SHA-256 of its text.
  const std::string& source() const { return source_; }
  const std::string& sha256() const { return sha256_; }

  // Returns the point of a batch size. Between two points, mean and deviation are interpolated, and
  // the rest is the stricter of both. Returns nullopt outside all points.
  std::optional<WorkloadPoint> at(double batch_size) const;

 private:
  std::string benchmark_;
  LoggedWorkload workload_;
  std::vector<WorkloadPoint> points_;
  std::string source_, sha256_;
};

// All built-in points.
const std::vector<WorkloadPoints>& built_in_workload_points();
// Returns the built-in points of the workload that these runs log, or null.
const WorkloadPoints* find_workload_points(const FolderConvergence& folder);

// Judges the runs of one folder. Does not judge runs of another workload or batch size, or runs
// that were evaluated too rarely.
RcpVerdict check_workload(const FolderConvergence& folder, const WorkloadPoints& points);

}  // namespace strata::compliance
