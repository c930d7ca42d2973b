#include "training/sync/losses.h"

#include <array>

namespace strata::training {

bert::Losses all_reduce(comm::Communicator& communicator, const bert::Losses& losses) {
  // Counts stay exact in double up to 2^53.
  std::array<double, 9> sums;
  double* next_sum = sums.data();
  for (const auto& [loss, correct, count] :
       {losses.masked_lm, losses.next_sentence, losses.standardization}) {
    *next_sum++ = loss;
    *next_sum++ = static_cast<double>(correct);
    *next_sum++ = static_cast<double>(count);
  }
  communicator.all_reduce_sum(sums.data(), std::ssize(sums), device::DType::kF64);
  const auto totals = [&](size_t at) {
    return device::LossTotals{sums[at], static_cast<int64_t>(sums[at + 1]),
                              static_cast<int64_t>(sums[at + 2])};
  };
  return {totals(0), totals(3), totals(6)};
}

}  // namespace strata::training
