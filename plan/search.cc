#include "plan/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/text/counts.h"
#include "plan/layout_checks.h"

namespace strata::plan {
namespace {

constexpr double kHardlySlower = 1.1;
// More micro-batches are left out, because each repeats part of a step's constant.
constexpr int64_t kMostMicroBatches = 256;

// Simulates each number of replicas and batch once.
class Imbalances {
 public:
  explicit Imbalances(std::string strategy) : strategy_(std::move(strategy)) {}

  double of(int64_t replicas, double batch) {
    const auto [known, first] = known_.try_emplace({replicas, batch}, 1);
    if (first) known->second = simulated_imbalance(strategy_, replicas, batch);
    return known->second;
  }

 private:
  std::string strategy_;
  std::map<std::pair<int64_t, double>, double> known_;
};

Prediction predict_with(const Planner& planner, int64_t ranks, double batch, const Layout& layout,
                        double imbalance) {
  Prediction prediction;
  StepInput& input = prediction.input;
  input.ranks = ranks;
  input.nodes = planner.network ? domains_of(*planner.network, ranks)
                                : (ranks + planner.ranks_per_node - 1) / planner.ranks_per_node;
  input.batch = batch;
  input.imbalance = imbalance;
  input.network = planner.network;
  input.layout = layout;
  prediction.step = predict_step(planner.calibration, planner.shape, input);
  prediction.samples = planner.samples(batch);
  prediction.run = predict_run(planner.run_input(input, prediction.step, prediction.samples));
  prediction.memory = rank_memory(planner.shape, input);
  return prediction;
}

std::vector<Layout> layouts_of(const ModelShape& shape, int64_t ranks, double batch) {
  std::vector<Layout> layouts;
  for (int64_t stages = 1; stages <= std::min(ranks, shape.layers); ++stages) {
    if (ranks % stages != 0 || shape.layers % stages != 0) continue;
    const double per_replica = batch / static_cast<double>(ranks / stages);
    if (per_replica < 1 || per_replica != std::floor(per_replica)) continue;
    const auto samples = static_cast<int64_t>(per_replica);
    for (int64_t n = 1; n <= std::min(samples, kMostMicroBatches); ++n) {
      if (samples % n != 0 || (stages > 1 && n < stages)) continue;
      if (stages > 1) {
        for (const Sharding sharding : {Sharding::kNone, Sharding::kState}) {
          layouts.push_back({stages, false, n, Order::kMicroBatch, sharding});
          layouts.push_back({stages, true, n, Order::kMicroBatch, sharding});
        }
        continue;
      }
      for (const Sharding sharding :
           {Sharding::kNone, Sharding::kState, Sharding::kGradients, Sharding::kAll}) {
        layouts.push_back({1, false, n, Order::kMicroBatch, sharding});
        if (n > 1) layouts.push_back({1, false, n, Order::kLayer, sharding});
      }
    }
  }
  return layouts;
}

}  // namespace

int64_t Planner::most_ranks() const {
  constexpr int64_t kFarthest = 1024;
  int64_t most = 1;
  for (const MeasuredStep& step : measured) most = std::max(most, step.ranks);
  return kFarthest * most;
}

Prediction Planner::predict(int64_t ranks, double batch, const Layout& layout) const {
  return predict_with(*this, ranks, batch, layout,
                      simulated_imbalance(strategy, ranks / layout.stages, batch));
}

RunInput Planner::run_input(const StepInput& input, const StepTime& step,
                            const Samples& run_samples) const {
  return {.step = step.total(),
          .evaluation = evaluation_seconds(calibration, input.ranks),
          .batch = input.batch,
          .start = start.seconds(step.total()),
          .step_error = step.error,
          .samples = run_samples};
}

SearchResult search(const Planner& planner, const SearchSpace& space) {
  SearchResult result;
  Imbalances imbalances(planner.strategy);
  std::vector<Prediction> fitting;
  double least = std::numeric_limits<double>::infinity();
  for (const int64_t ranks : space.ranks) {
    for (const double batch : space.batches) {
      for (Layout layout : layouts_of(planner.shape, ranks, batch)) {
        layout.clip = space.clip;
        layout.recompute = space.recompute;
        if (refusal(planner.shape, ranks, batch, layout)) continue;
        ++result.tried;
        const double memory =
            rank_memory(planner.shape, {.ranks = ranks, .batch = batch, .layout = layout});
        least = std::min(least, memory);
        if (memory > space.memory) continue;
        fitting.push_back(predict_with(planner, ranks, batch, layout,
                                       imbalances.of(ranks / layout.stages, batch)));
      }
    }
  }
  if (result.tried == 0) {
    fail(
        "no batch is a multiple of the replicas that any of the ranks make: choose batches that "
        "ranks divide");
  }
  if (fitting.empty()) {
    fail(
        "none of {} fits into {:.1f} GB a rank: the least that one needs is {:.1f} GB; take more "
        "ranks or a smaller batch",
        counted(result.tried, "layout"), space.memory / 1e9, least / 1e9);
  }
  result.fitting = fitting.size();
  const auto total = [](const Prediction& prediction) { return prediction.run.total; };
  result.fastest = *std::ranges::min_element(fitting, {}, total);
  const double most = kHardlySlower * result.fastest.run.total;
  std::erase_if(fitting, [&](const Prediction& each) { return each.run.total > most; });
  result.cheapest = *std::ranges::min_element(fitting, {}, &Prediction::rank_seconds);
  return result;
}

}  // namespace strata::plan
