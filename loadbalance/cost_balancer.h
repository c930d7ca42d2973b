// Assigning samples to ranks so that the slowest rank has as little as possible to do.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "loadbalance/cost_model.h"
#include "loadbalance/sample.h"
#include "loadbalance/sample_sort.h"

namespace strata::loadbalance {

// Equally many samples for every rank. Longest first, in rounds of one sample a rank: in serpentine
// order while much is still to come, then the longest to the least loaded (Graham's
// longest-processing-time rule with fixed counts). Where that leaves a rank too much, pairs of a
// heavily and a lightly loaded rank exchange the two samples that even them out best.
class CostBalancer {
 public:
  // For samples of at most `longest` tokens.
  CostBalancer(uint32_t longest, const CostModel& cost);

  // batches[rank * per_rank + i] for the samples of one group of ranks; longest first per rank.
  void assign(std::span<const Sample> samples, int ranks, std::span<uint32_t> batches);
  // [ranks] of the last assign: what each rank got, in shares of the longest sample's cost.
  std::span<const int64_t> loads() const { return loads_; }

 private:
  void deal_in_rounds(std::span<const Sample> sorted);
  bool exchange_in_pairs(int pass);
  void even_out(uint32_t heavy, uint32_t light);
  void restore_order(std::span<Sample> batch, size_t place) const;
  void order_ranks_by_load();
  int32_t cost_of(const Sample& sample) const { return costs_[sample.length]; }
  std::span<Sample> batch_of(uint32_t rank) {
    return std::span(batches_).subspan(rank * per_rank_, per_rank_);
  }

  std::vector<int32_t> costs_;  // per length; whole numbers, so that every rank plans the same
  SampleSort sort_;
  size_t per_rank_ = 0;
  std::vector<Sample> batches_;        // [ranks, per_rank], longest first
  std::vector<int64_t> loads_;         // per rank
  std::vector<uint32_t> order_;        // of ranks; after order_ranks_by_load, least loaded first
  std::vector<uint16_t> load_levels_;  // scratch of order_ranks_by_load: per rank
  std::vector<uint32_t> load_begins_;  // scratch of order_ranks_by_load: per level
};

}  // namespace strata::loadbalance
