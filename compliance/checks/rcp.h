// Reference convergence points (RCP): a submission may not converge statistically faster than the
// reference at its batch size. The method is the official rcp_checker's.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compliance/checks/convergence.h"
#include "compliance/checks/outcome.h"

namespace strata::compliance {

struct ReferencePoint {
  double batch_size = 0;
  std::vector<double> epochs;  // to converge, one per reference run, sorted
  double mean = 0;             // olympic mean
  double stdev = 0;            // population standard deviation of all runs
  double least_mean = 0;       // least mean of a submission that passes
  double max_speedup = 1;      // mean / least_mean
};

// The reference points of one benchmark in one round, sorted by batch size.
class ReferencePoints {
 public:
  // `json` has the official format: a record per batch size with Benchmark, BS and "Epochs to
  // converge" (or "samples to converge"). Throws Error with `source` if it has not.
  ReferencePoints(std::string_view json, std::string_view source, std::string_view usage,
                  std::string_view ruleset, std::string_view benchmark);

  const std::vector<ReferencePoint>& full() const { return full_; }
  // The points that no other point dominates.
  const std::vector<ReferencePoint>& pruned() const { return pruned_; }
  // Returns the point for a batch size between two others.
  ReferencePoint interpolate(double batch_size, const ReferencePoint& low,
                             const ReferencePoint& high) const;
  std::string_view benchmark() const { return benchmark_; }
  std::string_view ruleset() const { return ruleset_; }
  int runs_of_a_submission() const { return submission_runs_; }
  // The points' file, as a built-in name or a path, and the SHA-256 of its text.
  const std::string& source() const { return source_; }
  const std::string& sha256() const { return sha256_; }

 private:
  void prune();

  std::string benchmark_;
  std::string ruleset_;
  std::string source_, sha256_;
  int submission_runs_;
  std::vector<ReferencePoint> full_;
  std::vector<ReferencePoint> pruned_;
};

enum class RcpPass { kPruned, kFull };

struct RcpVerdict {
  RcpVerdict() = default;
  // Copies the runs' numbers, and the reason if they could not be read. Not judged yet.
  explicit RcpVerdict(const FolderConvergence& folder);

  // False if the official tool has no points, or would crash; by the points of a workload, if the
  // runs cannot be compared with them. The message then says why.
  bool judged = false;
  bool readable = true;  // false if logs contradict each other or lack data
  bool passed = false;
  bool may_be_reviewed = false;       // converged, at a known batch size
  std::string points, points_sha256;  // points' file; empty if there are none
  std::string message;                // the official tool's words if judged, unless two-sided
  // Factor on the score of a run that is faster than the reference mean but not too fast.
  double scaling = 1;
  std::string benchmark;             // the benchmark that the runs name
  std::optional<double> batch_size;  // the runs' batch size
  std::vector<double> runs;          // epochs or samples to converge, by log
  // Batch sizes of the points for the comparison: one, or two for an interpolation.
  std::vector<double> point_batch_sizes;
  bool by_train_samples = false;  // see FolderConvergence
  // Whether the points of a workload judged the runs (workload_points.h). Then a mean above
  // greatest_mean fails, too, and means are plain instead of olympic.
  bool two_sided = false;
  std::optional<double> submission_mean;  // mean of epochs to converge
  std::optional<double> reference_mean;
  std::optional<double> least_mean;  // the check fails below it
  std::optional<double> greatest_mean;
  std::string note;  // limits what the verdict means; may be empty

  // Returns whether BERT's counts are smaller than a batch, and so cannot be samples.
  bool counts_no_samples() const {
    return benchmark == "bert" && batch_size && submission_mean && *submission_mean < *batch_size;
  }
  // Returns whether a submission may ask for a review of its failure, which requires that runs
  // converged.
  bool may_bypass() const { return judged && !passed && may_be_reviewed; }
  Outcome outcome() const {
    if (!readable) return Outcome::kFailed;
    return !judged ? Outcome::kNotJudged : passed ? Outcome::kPassed : Outcome::kFailed;
  }
};

// Loads the built-in points (BERT), or those in a directory such as the official package's
// rcp_checker. Returns nullopt if the benchmark has none. Throws Error if a file cannot be read.
std::optional<ReferencePoints> load_reference_points(const std::filesystem::path& directory,
                                                     std::string_view usage,
                                                     std::string_view ruleset,
                                                     std::string_view benchmark);

// Reads a user's points in the same format. Throws Error if the file cannot be read or the
// benchmark's submissions have no known number of runs.
ReferencePoints read_reference_points(const std::filesystem::path& file, std::string_view usage,
                                      std::string_view ruleset, std::string_view benchmark);

// Judges the runs of one folder: by the built-in points of their workload if it has some, else by
// those of their benchmark in `directory`, or in the first of `others` that has any.
RcpVerdict check_rcp(const FolderConvergence& folder, const std::filesystem::path& directory,
                     std::string_view usage, std::string_view ruleset, RcpPass pass,
                     const std::vector<std::filesystem::path>& others = {});
// Judges by the points of this file, which may be those of a workload.
RcpVerdict check_rcp_by(const std::filesystem::path& file, const FolderConvergence& folder,
                        std::string_view usage, std::string_view ruleset, RcpPass pass);
// Judges by these points.
RcpVerdict check_rcp(const FolderConvergence& folder, const ReferencePoints& points, RcpPass pass);

// Returns the mean without the `dropped` smallest and largest of sorted values, or NaN if none is
// left.
double olympic_mean(const std::vector<double>& sorted, int dropped);
// Returns the one-sided p-value of Student's t-test with equal variances that the first mean is not
// below the second.
double one_sided_p_value(double mean1, double stdev1, double count1, double mean2, double stdev2,
                         double count2);

}  // namespace strata::compliance
