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
#include "base/text/counts.h"
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

// A prediction beyond its series.
struct Extrapolation {
  std::string reason;  // empty: it is none
  double error = 0;    // standard deviation of a step, as a share, beside the calibration's
};

// Published systems of another machine were predicted 20 to 70 % off, of other software 4 to 12 %
// (docs/measurements/plan.md).
constexpr double kOtherMachine = 0.3, kOtherSoftware = 0.08;

// Returns how the machines differ, or "".
std::string difference_between(const PublishedSystem& system, const PublishedSystem& from) {
  const auto differ = [](const std::string& one, const std::string& other) {
    return !one.empty() && !other.empty() && one != other;
  };
  const auto other = [](const auto& predicted, const auto& calibrated) {
    return fmt::format("{}, calibrated from {}", predicted, calibrated);
  };
  if (from.generation() != system.generation()) {
    return other(system.generation(), from.generation());
  }
  if (differ(system.form_factor(), from.form_factor())) {
    return other(system.form_factor(), from.form_factor());
  }
  if (system.ranks_per_node() != from.ranks_per_node()) {
    return other(counted(system.ranks_per_node(), "accelerator") + " per node",
                 from.ranks_per_node());
  }
  if (differ(system.division, from.division)) {
    return other(system.division + " division", from.division);
  }
  if (system.step.nodes > 1 && from.step.nodes > 1 && differ(system.network, from.network)) {
    return other("network " + system.network, from.network);
  }
  return "";
}

Extrapolation extrapolation_of(const PublishedSystem& system,
                               std::span<const PublishedSystem> calibrated) {
  std::string newest;
  bool on_several = false;
  for (const PublishedSystem& from : calibrated) {
    std::string difference = difference_between(system, from);
    if (!difference.empty()) return {std::move(difference), kOtherMachine};
    on_several = on_several || from.step.nodes > 1;
    if (newest.empty() || compliance::compare_versions(from.round, newest) > 0) newest = from.round;
  }
  const int compared = compliance::compare_versions(system.round, newest);
  if (compared != 0) {
    return {fmt::format("{} software, of round {}, calibrated from {}",
                        compared < 0 ? "older" : "newer", system.round, newest),
            kOtherSoftware};
  }
  if (system.step.nodes > 1 && !on_several) return {"several nodes, calibrated from one", 0};
  return {};
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
  using Key = std::tuple<std::string, std::string, std::string, std::string, std::string, int64_t,
                         std::string>;
  std::map<Key, std::vector<PublishedSystem>> groups;
  for (PublishedSystem& system : systems) {
    const Key key(system.round, system.submitter, system.accelerator, system.division,
                  first_word(system.framework), system.ranks_per_node(), system.network);
    groups[key].push_back(std::move(system));
  }
  std::vector<Series> all;
  std::vector<std::string> small;
  for (auto& [key, group] : groups) {
    const std::string name =
        fmt::format("{} {} {} {}, {} per node", std::get<1>(key), std::get<0>(key),
                    std::get<2>(key), std::get<3>(key), std::get<5>(key));
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
  planner.samples = reference_samples(systems.back().round);
  return planner;
}

CheckedSystem check_system(const Planner& planner, std::span<const PublishedSystem> calibrated,
                           const PublishedSystem& system) {
  CheckedSystem checked;
  checked.system = system;
  checked.calibrated = std::ranges::any_of(calibrated, [&](const PublishedSystem& from) {
    return from.name == system.name && from.round == system.round;
  });
  const Extrapolation extrapolation = extrapolation_of(system, calibrated);
  checked.extrapolation = extrapolation.reason;
  Prediction& prediction = checked.prediction;
  StepInput& input = prediction.input;
  input.ranks = system.step.ranks;
  input.nodes = system.step.nodes;
  input.batch = system.step.batch;
  input.imbalance = simulated_imbalance(planner.strategy, input.ranks, input.batch);
  input.network = planner.network;
  input.layout.micro_batches = system.step.micro_batches;
  prediction.step = predict_step(planner.calibration, planner.shape, input);
  prediction.step.error = std::hypot(prediction.step.error, extrapolation.error);
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
    const RunTime& run = each.prediction.run;
    if (each.system.time_to_train >= run.low && each.system.time_to_train <= run.high) {
      ++summary.held;
    }
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
