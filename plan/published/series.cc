#include "plan/published/series.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/timing.h"
#include "compliance/checks/rounds.h"

namespace strata::plan {
namespace {

constexpr size_t kCalibrated = 3;

// Returns "PyTorch" for "PyTorch NVIDIA Release 22.04".
std::string first_word(const std::string& text) { return text.substr(0, text.find(' ')); }

double ranks_of(const PublishedSystem& system) { return static_cast<double>(system.step.ranks); }

// Removes the system with the least key from `systems` and returns it.
template <typename Key>
PublishedSystem take_least(std::vector<PublishedSystem>& systems, const Key& key) {
  const auto least = std::ranges::min_element(systems, {}, key);
  PublishedSystem taken = std::move(*least);
  systems.erase(least);
  return taken;
}

Series choose_calibration(std::vector<PublishedSystem> systems) {
  constexpr double kEightTimes = 8;
  Series series;
  series.calibrated.push_back(take_least(systems, ranks_of));
  PublishedSystem small = take_least(systems, [](const PublishedSystem& system) {
    return std::pair(system.step.samples_per_rank(), -system.step.ranks);
  });
  const double wanted = kEightTimes * ranks_of(series.calibrated.front());
  series.calibrated.push_back(take_least(systems, [&](const PublishedSystem& system) {
    return std::fabs(std::log(ranks_of(system) / wanted));
  }));
  series.calibrated.push_back(std::move(small));
  series.rest = std::move(systems);
  return series;
}

MeasuredStep with_imbalance(const PublishedSystem& system, const std::string& strategy) {
  MeasuredStep step = system.step;
  step.imbalance = simulated_imbalance(strategy, step.ranks, step.batch);
  return step;
}

std::string extrapolation_of(const PublishedSystem& system,
                             std::span<const PublishedSystem> calibrated) {
  std::string newest;
  for (const PublishedSystem& from : calibrated) {
    if (from.generation() != system.generation()) {
      return fmt::format("{}, calibrated from {}", system.generation(), from.generation());
    }
    if (newest.empty() || compliance::compare_versions(from.round, newest) > 0) newest = from.round;
  }
  const int compared = compliance::compare_versions(system.round, newest);
  if (compared == 0) return "";
  return fmt::format("{} software, of round {}, calibrated from {}",
                     compared < 0 ? "older" : "newer", system.round, newest);
}

Deviation deviation_of(std::vector<double> errors) {
  if (errors.empty()) return {};
  for (double& error : errors) error = std::fabs(error);
  return {median(errors), std::ranges::max(errors)};
}

// Returns the reference samples, or nullopt if the round has none.
std::optional<Samples> reference_of(const PublishedSystem& system) {
  try {
    return reference_samples(system.round, system.step.batch);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

std::vector<Series> make_series(std::vector<PublishedSystem> systems,
                                std::vector<std::string>& left_out) {
  using Key = std::tuple<std::string, std::string, std::string, std::string, std::string>;
  std::map<Key, std::vector<PublishedSystem>> groups;
  for (PublishedSystem& system : systems) {
    const Key key(system.round, system.submitter, system.accelerator, system.division,
                  first_word(system.framework));
    groups[key].push_back(std::move(system));
  }
  std::vector<Series> all;
  std::vector<std::string> small;
  for (auto& [key, group] : groups) {
    const std::string name = fmt::format("{} {} {} {}", std::get<1>(key), std::get<0>(key),
                                         std::get<2>(key), std::get<3>(key));
    if (group.size() <= kCalibrated) {
      small.push_back(fmt::format("{} ({})", name, group.size()));
      continue;
    }
    Series series = choose_calibration(std::move(group));
    try {
      std::vector<MeasuredStep> steps;
      for (const PublishedSystem& system : series.calibrated) steps.push_back(system.step);
      calibrate(steps);
      all.push_back(std::move(series));
    } catch (const Error& error) {
      left_out.push_back(fmt::format("{}: {}", name, error.what()));
    }
  }
  if (!small.empty()) {
    left_out.push_back(fmt::format("series of fewer than {} systems: {}", kCalibrated + 1,
                                   fmt::join(small, ", ")));
  }
  return all;
}

Planner fit_published(std::span<const PublishedSystem> systems, const std::string& strategy) {
  Planner planner;
  std::vector<MeasuredStart> starts;
  std::set<std::string> kinds;
  for (const PublishedSystem& system : systems) {
    planner.measured.push_back(with_imbalance(system, strategy));
    starts.push_back({system.start, system.step.seconds, system.time_to_train});
    kinds.insert(fmt::format("{} in round {}", system.generation(), system.round));
  }
  planner.calibration = calibrate(planner.measured);
  if (kinds.size() > 1) {
    planner.calibration.notes.push_back(
        fmt::format("different machines or software: {}", fmt::join(kinds, ", ")));
  }
  planner.start = fit_start(starts);
  planner.strategy = strategy;
  planner.ranks_per_node = planner.calibration.ranks_per_node;
  const std::string round = systems.back().round;
  planner.samples = [round](double batch) { return reference_samples(round, batch); };
  return planner;
}

CheckedSystem check_system(const Planner& planner, std::span<const PublishedSystem> calibrated,
                           const PublishedSystem& system) {
  CheckedSystem checked;
  checked.system = system;
  checked.calibrated = std::ranges::any_of(calibrated, [&](const PublishedSystem& from) {
    return from.name == system.name && from.round == system.round;
  });
  checked.extrapolation = extrapolation_of(system, calibrated);
  Prediction& prediction = checked.prediction;
  StepInput& input = prediction.input;
  input.ranks = system.step.ranks;
  input.nodes = system.step.nodes;
  input.batch = system.step.batch;
  input.imbalance = simulated_imbalance(planner.strategy, input.ranks, input.batch);
  input.layout.micro_batches = system.step.micro_batches;
  prediction.step = predict_step(planner.calibration, planner.shape, input);
  prediction.samples =
      given_samples(system.samples, system.samples_stdev, static_cast<double>(system.runs));
  RunInput run = planner.run_input(input, prediction.step, prediction.samples);
  run.steps_per_evaluation = system.step.steps_per_evaluation;
  prediction.run = predict_run(run);
  checked.between_evaluations = run.step + run.evaluation / run.steps_per_evaluation;
  if (const auto reference = reference_of(system)) {
    run.samples = *reference;
    checked.by_reference = predict_run(run);
  }
  return checked;
}

std::optional<double> CheckedSystem::reference_error() const {
  if (!by_reference) return std::nullopt;
  return by_reference->total / system.time_to_train - 1;
}

CheckSummary summarise(std::span<const CheckedSystem> checked) {
  CheckSummary summary;
  std::vector<double> steps, runs, references;
  for (const CheckedSystem& each : checked) {
    if (each.calibrated || !each.extrapolation.empty()) continue;
    ++summary.systems;
    steps.push_back(each.step_error());
    runs.push_back(each.run_error());
    if (const auto error = each.reference_error()) references.push_back(*error);
  }
  summary.step = deviation_of(std::move(steps));
  summary.run = deviation_of(std::move(runs));
  summary.reference = deviation_of(std::move(references));
  return summary;
}

}  // namespace strata::plan
