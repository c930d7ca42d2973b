#include "loadbalance/cost_balancer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace strata::loadbalance {
namespace {

// The longest sample has this cost; other costs are proportional.
constexpr double kCostUnits = 1 << 20;
// One in this many rounds deals by load. These rounds come last and even out the earlier ones.
constexpr size_t kRoundsPerRoundByLoad = 2;
constexpr int kExchangePasses = 4;
// A rank is balanced if its load exceeds the mean by at most mean / kPartsOfMean.
constexpr int64_t kPartsOfMean = 1000;
// Ranks are ordered by load, quantised to at most this many levels.
constexpr uint64_t kMostLoadLevels = 2048;
constexpr uint64_t kLoadLevelsPerRank = 8;

std::vector<int32_t> cost_table(int64_t longest, const CostModel& model) {
  std::vector<int32_t> costs(static_cast<size_t>(longest) + 1);
  for (size_t length = 0; length < costs.size(); ++length) {
    costs[length] = static_cast<int32_t>(
        std::llround(model.cost(static_cast<int64_t>(length)) / model.cost(longest) * kCostUnits));
  }
  return costs;
}

}  // namespace

CostBalancer::CostBalancer(uint32_t longest, const CostModel& cost)
    : costs_(cost_table(longest, cost)), sort_(longest) {}

void CostBalancer::assign(std::span<const Sample> samples, int ranks, std::span<uint32_t> batches) {
  per_rank_ = samples.size() / static_cast<size_t>(ranks);
  batches_.resize(samples.size());
  loads_.assign(static_cast<size_t>(ranks), 0);
  order_.resize(static_cast<size_t>(ranks));
  deal_in_rounds(sort_.longest_first(samples));
  for (int pass = 0; pass < kExchangePasses; ++pass) {
    if (!exchange_in_pairs(pass)) break;
  }
  write_numbers(batches_, batches);
}

void CostBalancer::deal_in_rounds(std::span<const Sample> sorted) {
  const size_t ranks = loads_.size();
  const size_t first_by_load = per_rank_ - per_rank_ / kRoundsPerRoundByLoad;
  std::iota(order_.rbegin(), order_.rend(), 0u);
  for (size_t round = 0; round < per_rank_; ++round) {
    const std::span<const Sample> hand = sorted.subspan(round * ranks, ranks);
    if (round < first_by_load) {
      std::reverse(order_.begin(), order_.end());
    } else if (hand.front().length != hand.back().length) {
      order_ranks_by_load();
    }
    for (size_t i = 0; i < ranks; ++i) {
      const size_t rank = order_[i];
      batches_[rank * per_rank_ + round] = hand[i];
      loads_[rank] += cost_of(hand[i]);
    }
  }
}

// Pairs the most loaded rank with the least loaded, and so on inwards until ranks are balanced. Two
// ranks may have nothing to exchange, so every pass shifts the partners. Returns true if any rank
// was not balanced.
bool CostBalancer::exchange_in_pairs(int pass) {
  const size_t ranks = loads_.size(), pairs = ranks / 2;
  const int64_t mean =
      std::accumulate(loads_.begin(), loads_.end(), int64_t{0}) / static_cast<int64_t>(ranks);
  const int64_t balanced = mean + mean / kPartsOfMean;
  if (*std::max_element(loads_.begin(), loads_.end()) <= balanced) return false;
  order_ranks_by_load();
  for (size_t pair = 0; pair < pairs; ++pair) {
    const uint32_t heavy = order_[ranks - 1 - pair];
    if (loads_[heavy] <= balanced) break;
    even_out(heavy, order_[(pair + static_cast<size_t>(pass)) % pairs]);
  }
  return true;
}

// Both batches are sorted, so one walk over both finds the exchange that moves closest to half of
// the difference.
void CostBalancer::even_out(uint32_t heavy, uint32_t light) {
  const std::span<Sample> from = batch_of(heavy), to = batch_of(light);
  const int64_t difference = loads_[heavy] - loads_[light];
  int64_t best_move = 0;
  size_t best_from = 0, best_to = 0;
  for (size_t i = 0, j = 0; i < per_rank_ && j < per_rank_;) {
    const int64_t move = cost_of(from[i]) - cost_of(to[j]);
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

// Moves the only sample that may be out of order in a batch sorted longest first.
void CostBalancer::restore_order(std::span<Sample> batch, size_t place) const {
  for (; place > 0 && batch[place].length > batch[place - 1].length; --place) {
    std::swap(batch[place], batch[place - 1]);
  }
  for (; place + 1 < batch.size() && batch[place].length < batch[place + 1].length; ++place) {
    std::swap(batch[place], batch[place + 1]);
  }
}

// A counting sort over quantised loads. Levels are powers of two, because divisions would take
// longer than the rest.
void CostBalancer::order_ranks_by_load() {
  const auto [least, most] = std::minmax_element(loads_.begin(), loads_.end());
  const uint64_t levels = std::min<uint64_t>(kMostLoadLevels, kLoadLevelsPerRank * loads_.size());
  const int64_t lowest = *least;
  const int level_bits = std::bit_width(static_cast<uint64_t>(*most - lowest) / levels);
  load_levels_.resize(loads_.size());
  load_begins_.assign(levels + 1, 0);
  for (size_t rank = 0; rank < loads_.size(); ++rank) {
    load_levels_[rank] = static_cast<uint16_t>((loads_[rank] - lowest) >> level_bits);
    ++load_begins_[load_levels_[rank] + 1u];
  }
  std::partial_sum(load_begins_.begin(), load_begins_.end(), load_begins_.begin());
  for (size_t rank = 0; rank < loads_.size(); ++rank) {
    order_[load_begins_[load_levels_[rank]]++] = static_cast<uint32_t>(rank);
  }
}

}  // namespace strata::loadbalance
