// How accuracy rose in the runs that logs tell of.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compliance/log/event_log.h"
#include "compliance/package/submission_tree.h"

namespace strata::results {

struct Evaluation {
  double minutes = 0;             // since run_start
  std::optional<double> samples;  // by then, as the log counts: BERT's samples, else mostly epochs
  double accuracy = 0;            // the value of eval_accuracy
};

struct Curve {
  std::filesystem::path log;
  // Whose run it is, the same for all logs of a folder: submitter and system, or where it lies.
  std::string series;
  std::string submitter;                // empty where it lies in no submission
  std::string accelerator;              // as the system description calls it
  std::optional<int64_t> accelerators;  // of the system
  std::string round;                    // of MLPerf Training that the path names, such as 2.1.0
  std::string benchmark;                // as logged, else as its folder is called
  bool converged = false;               // run_stop says success
  std::optional<double> target;         // quality_target, which Strata logs
  std::vector<Evaluation> evaluations;
  bool has_other_values = false;  // eval_accuracy is not a number, as maskrcnn's
  std::string problem;            // why the log cannot be read; it has no evaluations then
  bool readable = true;           // false: the system did not hand the log over
};

// The median run by the minutes of its last evaluation, which represents all in a picture. Only
// runs that say success count, unless there are none; of two middle runs the faster one counts.
// Requires at least one run, and an evaluation in each.
size_t median_run(std::span<const Curve* const> runs);

// Of one log, without its series; `benchmark` where it names none. Throws ReadError where a large
// log cannot be read again.
Curve read_curve(const compliance::EventLog& log, const std::string& benchmark);

// A curve for each log, and for each of the result folders in a directory, in order, but none
// twice; without evaluations where the log has none. Of runs that began anew the last is meant, up
// to the first run_stop. BERT's samples are left out where a log counts epochs. Throws Error for a
// path that is not there or holds no logs. Folders and logs that cannot be read are added to
// `problems`; without it such folders throw as well.
std::vector<Curve> read_curves(std::span<const std::filesystem::path> paths,
                               compliance::ListingProblems* problems = nullptr);

// An array with an object a run.
std::string curves_json(const std::vector<Curve>& curves);

}  // namespace strata::results
