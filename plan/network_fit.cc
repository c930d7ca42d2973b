#include "plan/network_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"

namespace strata::plan {
namespace {

// Returns the seconds that the network exposes in a measured step.
double exposed_seconds(const Planner& planner, const MeasuredStep& step) {
  if (domains_of(*planner.network, step.ranks) < 2) return 0;
  const StepInput input{.ranks = step.ranks,
                        .nodes = step.nodes,
                        .batch = step.batch,
                        .network = planner.network,
                        .layout = {.micro_batches = step.micro_batches}};
  Calibration without = planner.calibration;
  without.costs.between_nodes = 0;
  return predict_step(without, planner.shape, input).exposed;
}

std::vector<double> exposed_seconds(const Planner& planner) {
  std::vector<double> seconds;
  for (const MeasuredStep& step : planner.measured) {
    seconds.push_back(exposed_seconds(planner, step));
  }
  return seconds;
}

// Returns the calibration beside exposed communication, or nullopt if no costs explain the steps.
std::optional<Calibration> fitted_beside(Planner planner) {
  const std::vector<MeasuredStep>& steps = planner.measured;
  constexpr int kRounds = 4;  // a sample's time hides communication, and changes by less each time
  for (int i = 0; i < kRounds; ++i) {
    const std::vector<double> exposed = exposed_seconds(planner);
    for (size_t step = 0; step < steps.size(); ++step) {
      if (exposed[step] >= steps[step].seconds) return std::nullopt;
    }
    try {
      planner.calibration = calibrate(steps, exposed);
    } catch (const Error&) {
      return std::nullopt;
    }
  }
  return planner.calibration;
}

}  // namespace

void fit_beside_network(Planner& planner) {
  Calibration& calibration = planner.calibration;
  std::erase(calibration.notes, kNeedsNetwork);
  const double measured = calibration.costs.between_nodes;
  const std::vector<double> exposed = exposed_seconds(planner);
  const size_t most = static_cast<size_t>(std::ranges::max_element(exposed) - exposed.begin());
  if (exposed[most] == 0) return;
  std::optional<Calibration> fitted = fitted_beside(planner);
  // Three standard deviations of predictions within a series.
  constexpr double kTolerated = 0.06;
  const double tolerated = std::max(kTolerated, 2 * calibration.step_error);
  const auto is_off = [&](double residual) { return std::fabs(residual) > tolerated; };
  if (!fitted || std::ranges::any_of(fitted->residuals, is_off)) {
    const MeasuredStep& step = planner.measured[most];
    calibration.notes.push_back(
        fmt::format("--network contradicts the measurements: it predicts {:.1f} ms of exposed "
                    "communication for {}, whose step takes {:.1f} ms, and no times per sample and "
                    "per step explain the measured steps beside that; correct a card's bytes per "
                    "second, --cards or --domain, or omit --network",
                    1e3 * exposed[most], step.name, 1e3 * step.seconds));
    calibration.costs.between_nodes = 0;
    return;
  }
  fitted->notes = std::move(calibration.notes);
  calibration = *std::move(fitted);
  const bool on_one =
      std::ranges::any_of(planner.measured, [](const auto& step) { return step.nodes == 1; });
  if (!on_one) return;  // what several nodes cost is part of the constant
  calibration.notes.push_back(fmt::format(
      "without --network, several nodes cost {:.1f} ms per step; --network explains up "
      "to {:.1f} ms of this, and {:.1f} ms are added to each prediction on several domains",
      1e3 * measured, 1e3 * std::ranges::max(exposed_seconds(planner)),
      1e3 * calibration.costs.between_nodes));
}

}  // namespace strata::plan
