// The rise of accuracy in logged runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compliance/package/submission_tree.h"
#include "mllog/log_reader.h"

namespace strata::scoring {

struct Evaluation {
  double minutes = 0;             // time since run_start
  std::optional<double> samples;  // in the log's unit: BERT's samples, else mostly epochs
  double accuracy = 0;            // value of eval_accuracy
};

struct Curve {
  std::filesystem::path log;
  // The owner, the same for all logs of a folder: submitter and system, or the folder.
  std::string series;
  std::string submitter;                // empty if the log is in no submission
  std::string accelerator;              // name in the system description
  std::optional<int64_t> accelerators;  // number in the system
  std::string round;                    // MLPerf Training round in the path, such as 2.1.0
  std::string benchmark;                // as logged, else the folder's name
  bool converged = false;               // run_stop logs success
  std::optional<double> target;         // quality_target, which Strata logs
  std::vector<Evaluation> evaluations;
  bool has_other_values = false;  // eval_accuracy is not a number, as maskrcnn's
  std::string problem;            // why the log cannot be read; it then has no evaluations
  bool readable = true;           // false: an I/O error prevented reading the log
};

// Returns the median run by the minutes of its last evaluation, which represents all in a picture.
// Counts only successful runs, unless there are none, and the faster of two middle runs. Requires
// at least one run, and an evaluation in each.
size_t median_run(std::span<const Curve* const> runs);

// Reads one log, without its series. `benchmark` is used if the log names none. Throws ReadError if
// a large log cannot be read again.
Curve read_curve(const mllog::LogReader& log, const std::string& benchmark);

// Returns a curve for each log and for each log of the result folders in a directory, in order,
// none twice. A log without evaluations gives a curve without them. If a run began anew, reads the
// last one, up to the first run_stop. Leaves out BERT's samples if a log counts epochs. Throws
// Error if a path does not exist or holds no logs. Adds folders and logs that cannot be read to
// `problems`; if that is null, throws Error for such folders.
std::vector<Curve> read_curves(std::span<const std::filesystem::path> paths,
                               compliance::ListingProblems* problems = nullptr);

// Returns an array with an object per run.
std::string curves_json(const std::vector<Curve>& curves);

}  // namespace strata::scoring
