#include "plan/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
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

// Returns why such steps lie beyond the measured ones; an empty text if they do not.
std::string extrapolation_of(const Planner& planner, int64_t ranks, double batch) {
  if (planner.measured.empty()) return {};
  constexpr double kSame = 1e-9;
  int64_t most = 0;
  double least_samples = std::numeric_limits<double>::infinity(), most_samples = 0;
  for (const MeasuredStep& step : planner.measured) {
    most = std::max(most, step.ranks);
    least_samples = std::min(least_samples, step.samples_per_rank());
    most_samples = std::max(most_samples, step.samples_per_rank());
  }
  if (ranks > most) return fmt::format("more than {} ranks", most);
  const double samples = batch / static_cast<double>(ranks);
  if (samples >= least_samples * (1 - kSame) && samples <= most_samples * (1 + kSame)) return {};
  return fmt::format("samples per rank outside {:.4g} to {:.4g}", least_samples, most_samples);
}

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
  prediction.extrapolation = extrapolation_of(planner, ranks, batch);
  return prediction;
}

// Adds the imbalance to predictions without, where that can change the result: it takes longer to
// simulate than all else, and only makes a layout slower.
class Simulated {
 public:
  explicit Simulated(const Planner& planner) : planner_(planner), imbalances_(planner.strategy) {}

  // Returns the prediction with the least key among those that take at most `most` seconds. Ties go
  // to the first. Requires that one does, and that keys grow with the imbalance.
  template <typename Key>
  Prediction least(const std::vector<Prediction>& even, const Key& key, double most) {
    std::vector<size_t> order(even.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, {}, [&](size_t i) { return key(even[i]); });
    std::optional<std::pair<double, size_t>> best;
    for (const size_t i : order) {
      if (best && key(even[i]) > best->first) break;
      if (even[i].run.total > most) continue;
      const Prediction uneven = of(even[i]);
      const std::pair candidate(key(uneven), i);
      if (uneven.run.total <= most && (!best || candidate < *best)) best = candidate;
    }
    return of(even[best->second]);
  }

 private:
  Prediction of(const Prediction& even) {
    const StepInput& input = even.input;
    return predict_with(planner_, input.ranks, input.batch, input.layout,
                        imbalances_.of(input.ranks / input.layout.stages, input.batch));
  }

  const Planner& planner_;
  Imbalances imbalances_;
};

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
  int64_t most = 1;
  for (const MeasuredStep& step : measured) most = std::max(most, step.ranks);
  return kMostTimesMeasured * most;
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
  std::vector<Prediction> fitting;  // without imbalance
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
        if (memory <= space.memory) {
          fitting.push_back(predict_with(planner, ranks, batch, layout, 1));
        }
      }
    }
  }
  if (result.tried == 0) {
    fail(
        "no --batch can be divided evenly among replicas; choose batches that are multiples of the "
        "number of ranks");
  }
  if (fitting.empty()) {
    fail(
        "none of {} fits into {:.1f} GB per rank; the smallest needs {:.1f} GB; use more ranks or "
        "a smaller batch",
        counted(result.tried, "layout"), space.memory / 1e9, least / 1e9);
  }
  result.fitting = fitting.size();
  Simulated simulated(planner);
  const auto total = [](const Prediction& prediction) { return prediction.run.total; };
  result.fastest = simulated.least(fitting, total, std::numeric_limits<double>::infinity());
  result.cheapest = simulated.least(fitting, std::mem_fn(&Prediction::rank_seconds),
                                    kHardlySlower * result.fastest.run.total);
  return result;
}

}  // namespace strata::plan
