#include "training/agreement/losses.h"

#include <array>

namespace strata::training {

bert::Losses all_reduce(comm::Communicator& communicator, const bert::Losses& losses) {
  const auto& [masked, next] = losses;
  // Counts stay exact in double up to 2^53.
  std::array<double, 6> sums{
      masked.loss, static_cast<double>(masked.correct), static_cast<double>(masked.count),
      next.loss,   static_cast<double>(next.correct),   static_cast<double>(next.count)};
  communicator.all_reduce_sum(sums.data(), std::ssize(sums), device::DType::kF64);
  const auto totals = [&](size_t at) {
    return device::LossTotals{sums[at], static_cast<int64_t>(sums[at + 1]),
                              static_cast<int64_t>(sums[at + 2])};
  };
  return {totals(0), totals(3)};
}

}  // namespace strata::training
