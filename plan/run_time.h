// Predicts time to train: a start, then steps and evaluations for the samples that the target
// takes.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "plan/calibration.h"

namespace strata::plan {

// The samples that a run needs, and how much the mean of a submission's runs varies.
struct Samples {
  double mean = 0;
  double error = 0;    // standard deviation of a submission's mean, as a share of it
  std::string ground;  // source of these numbers
};

// Interpolates between the reference points of the round ("2.0.0"). Beyond them uses E_min (1 + B /
// B_c), which fits the points to -8.5..+13.5 % with B_c = 12.8 k. The error is the spread of
// published submissions, and the runs' standard deviation over the square root of the 8 runs that
// count; beyond the points it grows by a tenth for every doubling. Throws Error for a round without
// such points.
Samples reference_samples(const std::string& round, double batch);
// Returns a function of the batch that does the same. Its first call reads the round's points.
std::function<Samples(double batch)> reference_samples(const std::string& round);

// Uses a given mean, and the standard deviation between `runs` runs.
Samples given_samples(double mean, double stdev, double runs);

// The time from run_start until steps take their usual time: a constant, and a number of steps,
// because the first steps are slow.
struct StartCosts {
  double base = 0;   // in seconds
  double steps = 0;  // in times of a usual step

  double seconds(double step) const { return base + steps * step; }
};

// A measured start.
struct MeasuredStart {
  double seconds = 0;
  double step = 0;           // time of its step
  double time_to_train = 0;  // starts are fitted relative to it
};
// Fits least squares of the errors over the times to train, with no cost below zero.
StartCosts fit_start(std::span<const MeasuredStart> starts);

struct RunInput {
  double step = 0;        // in seconds, without evaluations
  double evaluation = 0;  // in seconds
  double batch = 0;
  double steps_per_evaluation = 0;  // 0: MLPerf's interval
  double start = 0;                 // in seconds
  double step_error = 0;            // one standard deviation, as a share
  Samples samples;
};

// Times are in seconds. `low` and `high` are two standard deviations from the mean. These combine
// the errors of the step's time and of a submission's samples, which are independent.
struct RunTime {
  double start = 0;
  double steps = 0;  // number of steps
  double training = 0;
  double evaluations = 0;  // number of evaluations
  double evaluating = 0;
  double total = 0;
  double low = 0, high = 0;
};

RunTime predict_run(const RunInput& input);

}  // namespace strata::plan
