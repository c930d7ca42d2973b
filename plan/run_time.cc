#include "plan/run_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/numbers/nonnegative_fit.h"
#include "compliance/checks/evaluation_interval.h"
#include "compliance/checks/rcp.h"

namespace strata::plan {
namespace {

// Counting runs of a submission, without the fastest and the slowest.
constexpr double kCountingRuns = 8;
constexpr double kCriticalBatch = 12'800;
// Standard deviation of published submissions' samples over the reference points', as a share
// (docs/measurements/plan.md).
constexpr double kSubmissionSpread = 0.09;

// Returns how the needed samples grow with the batch size beyond the reference points.
double growth(double batch) { return 1 + batch / kCriticalBatch; }

std::vector<compliance::ReferencePoint> points_of(const std::string& round) {
  const auto points = compliance::load_reference_points({}, "training", round, "bert");
  if (!points) {
    fail(
        "round {}: there are no reference points of BERT; give the samples to converge with "
        "--samples",
        round);
  }
  return points->full();
}

Samples samples_at(const std::vector<compliance::ReferencePoint>& full, double batch) {
  const auto of = [&](double mean, double stdev, std::string ground) {
    Samples samples = given_samples(mean, stdev, kCountingRuns);
    samples.error = std::hypot(samples.error, kSubmissionSpread);
    samples.ground = std::move(ground);
    return samples;
  };
  const auto beyond = [&](const compliance::ReferencePoint& end) {
    const double factor = growth(batch) / growth(end.batch_size);
    Samples samples = of(end.mean * factor, end.stdev * factor, "beyond the reference points");
    constexpr double kEachDoubling = 0.1;
    samples.error =
        std::hypot(samples.error, kEachDoubling * std::fabs(std::log2(batch / end.batch_size)));
    return samples;
  };
  if (batch < full.front().batch_size) return beyond(full.front());
  if (batch > full.back().batch_size) return beyond(full.back());
  const auto above =
      std::ranges::lower_bound(full, batch, {}, [](const auto& point) { return point.batch_size; });
  if (above->batch_size == batch) return of(above->mean, above->stdev, "reference points");
  const auto below = above - 1;
  const double share = (batch - below->batch_size) / (above->batch_size - below->batch_size);
  return of(std::lerp(below->mean, above->mean, share),
            std::lerp(below->stdev, above->stdev, share), "reference points");
}

}  // namespace

Samples given_samples(double mean, double stdev, double runs) {
  return {mean, runs > 0 && mean > 0 ? stdev / std::sqrt(runs) / mean : 0, "published"};
}

Samples reference_samples(const std::string& round, double batch) {
  return samples_at(points_of(round), batch);
}

std::function<Samples(double batch)> reference_samples(const std::string& round) {
  return [round, points = std::vector<compliance::ReferencePoint>()](double batch) mutable {
    if (points.empty()) points = points_of(round);
    return samples_at(points, batch);
  };
}

StartCosts fit_start(std::span<const MeasuredStart> starts) {
  std::vector<Observation> observations;
  for (const MeasuredStart& start : starts) {
    const double weight = 1 / start.time_to_train;
    observations.push_back({{weight, weight * start.step}, weight * start.seconds});
  }
  const auto fit = fit_nonnegative(observations);
  return fit ? StartCosts{(*fit)[0], (*fit)[1]} : StartCosts{};
}

RunTime predict_run(const RunInput& input) {
  const auto interval = static_cast<double>(
      compliance::mlperf_evaluation_interval(static_cast<int64_t>(input.batch)));
  RunTime run;
  run.start = input.start;
  run.steps = input.samples.mean / input.batch;
  run.evaluations = input.steps_per_evaluation > 0 ? run.steps / input.steps_per_evaluation
                                                   : input.samples.mean / interval;
  run.training = run.steps * input.step;
  run.evaluating = run.evaluations * input.evaluation;
  run.total = run.start + run.training + run.evaluating;
  const double error = 2 * std::hypot(input.step_error * run.training,
                                      input.samples.error * (run.training + run.evaluating));
  run.low = std::max(0.0, run.total - error);
  run.high = run.total + error;
  return run;
}

}  // namespace strata::plan
