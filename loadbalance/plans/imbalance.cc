#include "loadbalance/plans/imbalance.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/numbers/statistics.h"
#include "base/timing.h"
#include "loadbalance/sample.h"

namespace strata::loadbalance {
namespace {

constexpr double kBytesPerToken = 5;

struct StepCosts {
  std::vector<double> ranks;
  double tokens = 0;  // in the global batch
};

StepCosts costs_of(std::span<const uint32_t> batch, const PlanOptions& options,
                   const SamplesByLength& samples) {
  StepCosts costs{std::vector<double>(static_cast<size_t>(options.ranks))};
  for (size_t i = 0; i < batch.size(); ++i) {
    const uint32_t length = samples.length_of(batch[i]);
    costs.ranks[i / static_cast<size_t>(options.batch_per_rank)] += options.cost.cost(length);
    costs.tokens += length;
  }
  return costs;
}

double imbalance_of(std::span<const double> costs) {
  return *std::max_element(costs.begin(), costs.end()) / mean(costs);
}

double group_bound_of(std::span<const double> costs, size_t group_ranks) {
  double heaviest = 0;
  for (size_t begin = 0; begin < costs.size(); begin += group_ranks) {
    const size_t size = std::min(group_ranks, costs.size() - begin);
    heaviest = std::max(heaviest, mean(costs.subspan(begin, size)));
  }
  return heaviest / mean(costs);
}

double bytes_received(const PlanOptions& options, double tokens) {
  const bool exchanges = options.strategy == "exchange" || options.strategy == "stratified+presort";
  if (!exchanges) return 0;
  return kBytesPerToken * tokens / options.ranks * (effective_group_ranks(options) - 1);
}

}  // namespace

ImbalanceReport measure_imbalance(const PlanOptions& options,
                                  std::span<const LengthCount> histogram, int steps) {
  if (steps < 1) fail("steps is {}: measuring imbalance needs at least 1", steps);
  const auto plan = make_batch_plan(options, histogram);
  const SamplesByLength samples(histogram);
  const size_t group_ranks = static_cast<size_t>(effective_group_ranks(options));
  std::vector<double> imbalances;
  ImbalanceReport report;
  for (int step = 0; step < steps; ++step) {
    const auto begin = Clock::now();
    const std::span<const uint32_t> batch = plan->next_step();
    report.planning_seconds_per_step += seconds_since(begin) / steps;
    const StepCosts costs = costs_of(batch, options, samples);
    imbalances.push_back(imbalance_of(costs.ranks));
    report.mean_group_bound += group_bound_of(costs.ranks, group_ranks) / steps;
    report.bytes_per_step += bytes_received(options, costs.tokens) / steps;
  }
  report.mean_imbalance = mean(imbalances);
  std::sort(imbalances.begin(), imbalances.end());
  report.p99_imbalance = imbalances[static_cast<size_t>(
      std::max(0.0, std::ceil(0.99 * static_cast<double>(steps)) - 1))];
  return report;
}

}  // namespace strata::loadbalance
