// How accuracy rose in the runs that logs tell of.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace strata::results {

struct Evaluation {
  double minutes = 0;             // since run_start
  std::optional<double> samples;  // by then, as the log counts: BERT's samples, else mostly epochs
  double accuracy = 0;            // the value of eval_accuracy
};

struct Curve {
  std::filesystem::path log;
  std::string series;            // whose run it is: submitter and system, or where the log lies
  std::string benchmark;         // empty where not logged
  bool converged = false;        // the last run_stop says success
  std::optional<double> target;  // quality_target, which Strata logs
  std::vector<Evaluation> evaluations;
};

// A curve for each log, and for each of the result folders in a directory, in order; without
// evaluations where the log has none. Throws Error for a path that is not there or holds no logs.
std::vector<Curve> read_curves(std::span<const std::filesystem::path> paths);

// An array with an object a run.
std::string curves_json(const std::vector<Curve>& curves);

}  // namespace strata::results
