#include "loadbalance/cost_balancer.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace strata::loadbalance {
namespace {

// The longest sample's cost; others in proportion.
constexpr double kCostUnits = 1 << 20;
constexpr int kExchangePasses = 4;
// Ranks are ordered by load to within one of so many levels.
constexpr int64_t kMostLoadLevels = 4096;
constexpr int64_t kLoadLevelsPerRank = 8;

std::vector<int32_t> cost_table(std::span<const uint16_t> lengths, const CostModel& model) {
  const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  std::vector<int32_t> costs(static_cast<size_t>(longest) + 1);
  for (size_t length = 0; length < costs.size(); ++length) {
    costs[length] =
        std::llround(model.cost(static_cast<int64_t>(length)) / model.cost(longest) * kCostUnits);
  }
  return costs;
}

}  // namespace

CostBalancer::CostBalancer(std::span<const uint16_t> lengths, const CostModel& cost)
    : costs_(cost_table(lengths, cost)), sort_(lengths) {}

void CostBalancer::assign(std::span<const uint32_t> samples, int ranks,
                          std::span<uint32_t> batches) {
  per_rank_ = samples.size() / static_cast<size_t>(ranks);
  items_.resize(samples.size());
  loads_.assign(static_cast<size_t>(ranks), 0);
  by_load_.resize(static_cast<size_t>(ranks));
  const std::span<const uint32_t> sorted = sort_.longest_first(samples);
  deal_in_rounds(sorted, sort_.sorted_lengths());
  for (int pass = 0; pass < kExchangePasses && ranks > 1; ++pass) exchange_in_pairs(pass);
  std::transform(items_.begin(), items_.end(), batches.begin(),
                 [](const Item& item) { return item.sample; });
}

void CostBalancer::deal_in_rounds(std::span<const uint32_t> sorted,
                                  std::span<const uint16_t> lengths) {
  const size_t ranks = loads_.size();
  for (size_t round = 0; round < per_rank_; ++round) {
    order_ranks_by_load();
    for (size_t i = 0; i < ranks; ++i) {
      const size_t rank = by_load_[i], next = round * ranks + i;
      const int32_t cost = costs_[lengths[next]];
      items_[rank * per_rank_ + round] = {sorted[next], cost};
      loads_[rank] += cost;
    }
  }
}

// The most loaded rank with the least loaded, and so on inwards. Two ranks may have nothing to
// exchange, so every pass shifts the partners.
void CostBalancer::exchange_in_pairs(int pass) {
  order_ranks_by_load();
  const size_t ranks = loads_.size(), pairs = ranks / 2;
  for (size_t pair = 0; pair < pairs; ++pair) {
    even_out(by_load_[ranks - 1 - pair], by_load_[(pair + static_cast<size_t>(pass)) % pairs]);
  }
}

// Both batches are sorted, so one walk over both finds the exchange that moves closest to half of
// the difference.
void CostBalancer::even_out(uint32_t heavy, uint32_t light) {
  const std::span<Item> from = batch_of(heavy), to = batch_of(light);
  const int64_t difference = loads_[heavy] - loads_[light];
  int64_t best_move = 0;
  size_t best_from = 0, best_to = 0;
  for (size_t i = 0, j = 0; i < per_rank_ && j < per_rank_;) {
    const int64_t move = from[i].cost - to[j].cost;
    if (std::abs(2 * move - difference) < std::abs(2 * best_move - difference)) {
      best_move = move;
      best_from = i;
      best_to = j;
    }
    if (2 * move > difference) {
      ++i;
    } else {
      ++j;
    }
  }
  if (best_move <= 0) return;
  std::swap(from[best_from], to[best_to]);
  loads_[heavy] -= best_move;
  loads_[light] += best_move;
  restore_order(from, best_from);
  restore_order(to, best_to);
}

// Moves the one item that may be out of place in a batch that is otherwise dearest first.
void CostBalancer::restore_order(std::span<Item> batch, size_t place) const {
  for (; place > 0 && batch[place].cost > batch[place - 1].cost; --place) {
    std::swap(batch[place], batch[place - 1]);
  }
  for (; place + 1 < batch.size() && batch[place].cost < batch[place + 1].cost; ++place) {
    std::swap(batch[place], batch[place + 1]);
  }
}

// A counting sort over quantised loads.
void CostBalancer::order_ranks_by_load() {
  const auto [least, most] = std::minmax_element(loads_.begin(), loads_.end());
  const int64_t levels =
      std::min(kMostLoadLevels, kLoadLevelsPerRank * static_cast<int64_t>(loads_.size()));
  const int64_t lowest = *least, level_size = (*most - *least) / levels + 1;
  const auto level = [&](size_t rank) {
    return static_cast<size_t>((loads_[rank] - lowest) / level_size);
  };
  load_begins_.assign(static_cast<size_t>(levels) + 1, 0);
  for (size_t rank = 0; rank < loads_.size(); ++rank) ++load_begins_[level(rank) + 1];
  for (size_t i = 1; i < load_begins_.size(); ++i) load_begins_[i] += load_begins_[i - 1];
  for (size_t rank = 0; rank < loads_.size(); ++rank) {
    by_load_[load_begins_[level(rank)]++] = static_cast<uint32_t>(rank);
  }
}

}  // namespace strata::loadbalance
