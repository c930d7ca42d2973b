// Assigning samples to ranks so that the slowest rank has as little as possible to do.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "loadbalance/cost_model.h"
#include "loadbalance/sample_sort.h"

namespace strata::loadbalance {

// Equally many samples for every rank. Longest first, in rounds of one sample a rank, the longest
// to the least loaded (Graham's longest-processing-time rule with fixed counts); then pairs of a
// heavily and a lightly loaded rank exchange the two samples that even them out best.
class CostBalancer {
 public:
  // `lengths` of every sample outlive this.
  CostBalancer(std::span<const uint16_t> lengths, const CostModel& cost);

  // batches[rank * per_rank + i] for the samples of one group of ranks; longest first per rank.
  void assign(std::span<const uint32_t> samples, int ranks, std::span<uint32_t> batches);

 private:
  struct Item {
    uint32_t sample = 0;
    int32_t cost = 0;
  };

  void deal_in_rounds(std::span<const uint32_t> sorted, std::span<const uint16_t> lengths);
  void exchange_in_pairs(int pass);
  void even_out(uint32_t heavy, uint32_t light);
  void restore_order(std::span<Item> batch, size_t place) const;
  void order_ranks_by_load();
  std::span<Item> batch_of(uint32_t rank) {
    return std::span(items_).subspan(rank * per_rank_, per_rank_);
  }

  std::vector<int32_t> costs_;  // per length; whole numbers, so that every rank plans the same
  SampleSort sort_;
  size_t per_rank_ = 0;
  std::vector<Item> items_;            // [ranks, per_rank], dearest first
  std::vector<int64_t> loads_;         // per rank
  std::vector<uint32_t> by_load_;      // ranks, least loaded first
  std::vector<uint32_t> load_begins_;  // scratch of order_ranks_by_load
};

}  // namespace strata::loadbalance
