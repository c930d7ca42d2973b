#include "plan/calibration.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/error.h"
#include "base/numbers/nonnegative_fit.h"
#include "base/text/counts.h"
#include "base/timing.h"

namespace strata::plan {
namespace {

// An evaluation's constant seconds, if no evaluation was measured.
constexpr double kUsualEvaluationConstant = 0.02;
// Standard deviation of the errors of predictions for published series (docs/measurements/plan.md).
// It applies if there are as many systems as costs, which leaves no residuals.
constexpr double kPublishedStepError = 0.02;
// Batches within the first factor count as equal; within the second they tell little.
constexpr double kOneBatch = 1.05, kCloseBatches = 1.5;

double samples_a_micro_batch(const MeasuredStep& step) {
  return step.samples_per_rank() / static_cast<double>(step.micro_batches);
}

// Returns the largest over the smallest value.
template <typename Value>
double spread(std::span<const MeasuredStep> steps, const Value& value) {
  const auto [least, most] = std::ranges::minmax(steps, {}, value);
  return std::invoke(value, most) / std::invoke(value, least);
}

void check(const MeasuredStep& step) {
  const bool usable = step.ranks > 0 && step.nodes > 0 && step.micro_batches > 0 &&
                      step.batch > 0 && step.seconds > 0 && std::isfinite(step.seconds) &&
                      std::isfinite(step.batch) && step.imbalance >= 1;
  if (!usable) {
    fail(
        "{}: cannot calibrate from {} on {}, a batch of {} in {}, {} s per step; measure a step in "
        "which these numbers are finite and above 0",
        step.name, counted(step.ranks, "rank"), counted(step.nodes, "node"), count_text(step.batch),
        counted(step.micro_batches, "micro-batch"), count_text(step.seconds));
  }
}

void check_batches(std::span<const MeasuredStep> steps) {
  if (steps.empty()) fail("there are no measured steps to calibrate from");
  for (const MeasuredStep& step : steps) check(step);
  if (spread(steps, &MeasuredStep::samples_per_rank) >= kOneBatch) return;
  std::vector<std::string> names;
  for (const MeasuredStep& step : steps) names.push_back(step.name);
  fail(
      "{}: all have one batch size ({} per rank), which cannot separate time per sample from time "
      "per step; add a measurement with another number of samples per rank, ideally a third of it",
      fmt::join(names, ", "), counted(steps.front().samples_per_rank(), "sample"));
}

double repeats(const StepCosts& costs, int64_t micro_batches) {
  return 1 + costs.repeated * static_cast<double>(micro_batches - 1);
}

// Returns how many training samples a step's share of an unmeasured evaluation is worth.
double evaluated_samples(const MeasuredStep& step) {
  if (step.steps_per_evaluation == 0 || step.evaluation_seconds) return 0;
  return kForwardShare * kEvaluationSamples / static_cast<double>(step.ranks) /
         step.steps_per_evaluation;
}

double known_evaluation_share(const MeasuredStep& step) {
  if (step.steps_per_evaluation == 0) return 0;
  return step.evaluation_seconds.value_or(kUsualEvaluationConstant) / step.steps_per_evaluation;
}

// Returns the shares of per_sample, per_step and between_nodes in a step's time. Of this time
// `known` seconds are none of theirs.
Observation parts_of(const MeasuredStep& step, const StepCosts& costs, double known) {
  const double seconds = step.seconds - known_evaluation_share(step);
  if (!(seconds > 0)) {
    fail(
        "{}: evaluating takes all of the logged time between evaluations, so no time is left for "
        "steps",
        step.name);
  }
  return {{(step.samples_per_rank() * step.imbalance + evaluated_samples(step)) / seconds,
           repeats(costs, step.micro_batches) / seconds, (step.nodes > 1 ? 1 : 0) / seconds},
          1 - known / seconds};
}

double evaluation_constant(std::span<const MeasuredStep> steps, double per_sample) {
  std::vector<double> constants;
  for (const MeasuredStep& step : steps) {
    if (!step.evaluation_seconds) continue;
    const double samples = kForwardShare * kEvaluationSamples / static_cast<double>(step.ranks);
    constants.push_back(std::max(0.0, *step.evaluation_seconds - per_sample * samples));
  }
  return constants.empty() ? kUsualEvaluationConstant : median(constants);
}

using Matrix = std::array<CostTerms, kCosts>;

// Returns the inverse of a symmetric positive definite matrix.
Matrix inverse(Matrix matrix) {
  Matrix result{};
  for (size_t i = 0; i < kCosts; ++i) result[i][i] = 1;
  for (size_t pivot = 0; pivot < kCosts; ++pivot) {
    const double scale = 1 / matrix[pivot][pivot];
    for (size_t j = 0; j < kCosts; ++j) {
      matrix[pivot][j] *= scale;
      result[pivot][j] *= scale;
    }
    for (size_t i = 0; i < kCosts; ++i) {
      if (i == pivot) continue;
      const double factor = matrix[i][pivot];
      for (size_t j = 0; j < kCosts; ++j) {
        matrix[i][j] -= factor * matrix[pivot][j];
        result[i][j] -= factor * result[pivot][j];
      }
    }
  }
  return result;
}

// Sets the covariance of the least squares. The measurements may not tell all costs, so the
// constants have a prior: before anything is fitted they are zero, give or take these shares of the
// shortest measured step (docs/measurements/plan.md).
void set_covariance(std::span<const MeasuredStep> steps, std::span<const Observation> observations,
                    Calibration& calibration) {
  constexpr double kStepPrior = 0.5, kNodesPrior = 0.2;
  const double shortest = std::ranges::min(steps, {}, &MeasuredStep::seconds).seconds;
  const auto square = [](double value) { return value * value; };
  Matrix precision{};
  precision[1][1] = 1 / square(kStepPrior * shortest);
  precision[2][2] = 1 / square(kNodesPrior * shortest);
  for (const Observation& observation : observations) {
    for (size_t i = 0; i < kCosts; ++i) {
      for (size_t j = 0; j < kCosts; ++j) {
        precision[i][j] +=
            observation.parts[i] * observation.parts[j] / square(calibration.step_error);
      }
    }
  }
  calibration.covariance = inverse(precision);
}

// True if the observations fit without the term.
bool fits_without(std::vector<Observation> observations, size_t term, double error) {
  for (Observation& observation : observations) observation.parts[term] = 0;
  const auto fit = fit_nonnegative(observations);
  if (!fit) return false;
  return std::ranges::all_of(observations, [&](const Observation& each) {
    double sum = -each.value;
    for (size_t i = 0; i < kCosts; ++i) sum += each.parts[i] * (*fit)[i];
    return std::fabs(sum) <= error;
  });
}

void set_step_error(Calibration& calibration) {
  const StepCosts& costs = calibration.costs;
  const auto fitted = (costs.per_sample > 0) + (costs.per_step > 0) + (costs.between_nodes > 0);
  const auto free = static_cast<double>(calibration.residuals.size()) - fitted;
  double squares = 0;
  for (const double residual : calibration.residuals) squares += residual * residual;
  const double from_residuals = free > 0 ? std::sqrt(squares / free) : 0;
  calibration.step_error = std::max(from_residuals, kPublishedStepError);
  calibration.step_error_ground = from_residuals > kPublishedStepError
                                      ? "residuals of the fit"
                                      : "errors of predictions of published series";
}

std::vector<std::string> notes_on(std::span<const MeasuredStep> steps,
                                  const Calibration& calibration) {
  std::vector<std::string> notes;
  constexpr double kUnfit = 0.1;
  if (calibration.step_error > kUnfit) {
    notes.push_back(
        "no pair of a time per sample and a time per step explains these steps: was the machine "
        "busy with other work, or were the steps measured on different machines?");
  }
  if (spread(steps, &MeasuredStep::samples_per_rank) < kCloseBatches) {
    notes.push_back(
        "samples per rank differ by less than half, so time per sample and time per step are "
        "uncertain");
  }
  const auto on_one = [](const MeasuredStep& step) { return step.nodes == 1; };
  if (std::ranges::all_of(steps, on_one)) {
    notes.emplace_back(kNeedsNetwork);
  } else if (std::ranges::none_of(steps, on_one)) {
    notes.push_back(
        "all steps ran on several nodes, so the cost of several nodes is part of the time per "
        "step; a measurement on one node would separate the two");
  } else if (steps.size() == 2) {
    notes.push_back(
        "only one of two steps ran on one node, so the cost of several nodes is unknown; add a "
        "measurement on one node with another number of samples per rank");
  }
  if (!calibration.tells_nodes_apart) {
    notes.push_back(
        "the measured steps fit either without a time per step or without a cost of several nodes, "
        "so the two cannot be told apart; add a measurement on one node with as few samples per "
        "rank as on several nodes");
  }
  return notes;
}

}  // namespace

double predicted_error(const Calibration& calibration, const CostTerms& shares, double seconds,
                       int64_t ranks) {
  constexpr double kEachDoubling = 0.01;
  double squares = 0;
  for (size_t i = 0; i < kCosts; ++i) {
    for (size_t j = 0; j < kCosts; ++j) {
      squares += shares[i] * shares[j] * calibration.covariance[i][j];
    }
  }
  double doublings = 0;
  if (calibration.most_ranks > 0 && ranks > calibration.most_ranks) {
    doublings = std::log2(static_cast<double>(ranks) / static_cast<double>(calibration.most_ranks));
  }
  return std::hypot(calibration.step_error, std::sqrt(squares) / seconds,
                    kEachDoubling * doublings);
}

double evaluation_seconds(const Calibration& calibration, int64_t ranks) {
  return kForwardShare * kEvaluationSamples / static_cast<double>(ranks) *
             calibration.costs.per_sample +
         calibration.evaluation_constant;
}

Calibration calibrate(std::span<const MeasuredStep> steps, std::span<const double> known) {
  check_batches(steps);
  Calibration calibration;
  StepCosts& costs = calibration.costs;
  constexpr double kEqualMicroBatches = 1.001;
  if (spread(steps, samples_a_micro_batch) < kEqualMicroBatches) costs.repeated = 0;

  std::vector<Observation> observations;
  for (size_t i = 0; i < steps.size(); ++i) {
    observations.push_back(parts_of(steps[i], costs, known.empty() ? 0 : known[i]));
  }
  const auto fit = fit_nonnegative(observations);
  if (!fit || (*fit)[0] <= 0) {
    fail(
        "{}: steps do not take longer for more samples per rank: are they from one machine and one "
        "program?",
        steps.front().name);
  }
  costs.per_sample = (*fit)[0];
  costs.per_step = (*fit)[1];
  costs.between_nodes = (*fit)[2];
  for (const MeasuredStep& step : steps) costs.update = std::max(costs.update, step.update);
  costs.update = std::min(costs.update, costs.per_step);
  for (const auto& [parts, value] : observations) {
    calibration.residuals.push_back(parts[0] * (*fit)[0] + parts[1] * (*fit)[1] +
                                    parts[2] * (*fit)[2] - value);
  }
  calibration.evaluation_constant = evaluation_constant(steps, costs.per_sample);
  const MeasuredStep& widest = *std::ranges::max_element(steps, {}, &MeasuredStep::nodes);
  calibration.ranks_per_node = std::max<int64_t>(1, widest.ranks / widest.nodes);
  set_step_error(calibration);
  set_covariance(steps, observations, calibration);
  calibration.most_ranks = std::ranges::max(steps, {}, &MeasuredStep::ranks).ranks;
  calibration.tells_nodes_apart = widest.nodes == 1 ||
                                  !fits_without(observations, 1, calibration.step_error) ||
                                  !fits_without(observations, 2, calibration.step_error);
  calibration.notes = notes_on(steps, calibration);
  return calibration;
}

}  // namespace strata::plan
