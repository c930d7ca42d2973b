#include "plan/fewest_ranks.h"

#include <algorithm>
#include <utility>

#include "plan/layout_checks.h"

namespace strata::plan {
namespace {

// Returns the numbers of ranks that divide the batch among replicas and fill nodes, ascending.
std::vector<int64_t> candidates(const Planner& planner, double batch, const Layout& layout) {
  const int64_t node = std::max<int64_t>(1, planner.ranks_per_node);
  const auto samples = static_cast<int64_t>(batch);
  std::vector<int64_t> ranks;
  for (int64_t replicas = 1; replicas <= samples; ++replicas) {
    const int64_t all = replicas * layout.stages;
    const bool fills = all < node ? node % all == 0 : all % node == 0;
    if (samples % replicas != 0 || !fills || all > planner.most_ranks()) continue;
    if (!refusal(planner.shape, all, batch, layout)) ranks.push_back(all);
  }
  return ranks;
}

}  // namespace

FewestRanks fewest_ranks(const Planner& planner, const std::vector<double>& batches,
                         const Layout& layout, double seconds) {
  FewestRanks result{.seconds = seconds};
  const auto keep_fewer = [](const Prediction& found, std::optional<Prediction>& kept) {
    const auto key = [](const Prediction& prediction) {
      return std::pair(prediction.input.ranks, prediction.run.total);
    };
    if (!kept || key(found) < key(*kept)) kept = found;
  };
  for (const double batch : batches) {
    for (const int64_t ranks : candidates(planner, batch, layout)) {
      if (result.sure && ranks > result.sure->input.ranks) break;
      const Prediction prediction = planner.predict(ranks, batch, layout);
      if (prediction.run.total <= seconds) keep_fewer(prediction, result.expected);
      if (prediction.run.high > seconds) continue;
      keep_fewer(prediction, result.sure);
      break;
    }
  }
  return result;
}

}  // namespace strata::plan
