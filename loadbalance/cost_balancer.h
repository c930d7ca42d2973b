// Assigns samples to ranks so that the slowest rank has as little work as possible.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "loadbalance/cost_model.h"
#include "loadbalance/sample.h"
#include "loadbalance/sample_sort.h"

namespace strata::loadbalance {

// Gives every rank the same number of samples. Samples are dealt longest first, in rounds of one
// per rank. Early rounds use serpentine order; the last ones give the longest sample to the least
// loaded rank (Graham's longest-processing-time rule with fixed counts). If a rank still has too
// much, pairs of a heavily and a lightly loaded rank exchange the two samples that balance them
// best.
class CostBalancer {
 public:
  // For samples of at most `longest` tokens.
  CostBalancer(uint32_t longest, const CostModel& cost);

  // Writes batches[rank * per_rank + i] for the samples of one group of ranks, longest first for
  // each rank.
  void assign(std::span<const Sample> samples, int ranks, std::span<uint32_t> batches);
  // Loads of the last assign(), [ranks], relative to the longest sample's cost.
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

  std::vector<int32_t> costs_;  // per length; integers, so that every rank computes the same plan
  SampleSort sort_;
  size_t per_rank_ = 0;
  std::vector<Sample> batches_;        // [ranks, per_rank], longest first
  std::vector<int64_t> loads_;         // per rank
  std::vector<uint32_t> order_;        // ranks; after order_ranks_by_load(), least loaded first
  std::vector<uint16_t> load_levels_;  // scratch of order_ranks_by_load(), per rank
  std::vector<uint32_t> load_begins_;  // scratch of order_ranks_by_load(), per level
};

}  // namespace strata::loadbalance
