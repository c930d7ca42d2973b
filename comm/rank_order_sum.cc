#include "comm/rank_order_sum.h"

#include <algorithm>
#include <array>

namespace strata::comm {
namespace {

// Small enough for the running sums to stay in the first-level cache.
constexpr int64_t kBlock = 2048;

template <typename Element, typename Accumulator>
void sum_parts(const Element* parts, int ranks, int64_t count, Element* sum) {
  std::array<Accumulator, kBlock> running;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t size = std::min(kBlock, count - begin);
    const Element* part = parts + begin;
    for (int64_t i = 0; i < size; ++i) running[i] = static_cast<Accumulator>(part[i]);
    for (int rank = 1; rank < ranks; ++rank) {
      part += count;
      for (int64_t i = 0; i < size; ++i) running[i] += static_cast<Accumulator>(part[i]);
    }
    for (int64_t i = 0; i < size; ++i) sum[begin + i] = Element(running[i]);
  }
}

}  // namespace

void sum_in_rank_order(const void* parts, int ranks, int64_t count, device::DType dtype,
                       void* sum) {
  using device::BFloat16;
  switch (dtype) {
    case device::DType::kF64:
      return sum_parts<double, double>(static_cast<const double*>(parts), ranks, count,
                                       static_cast<double*>(sum));
    case device::DType::kF32:
      return sum_parts<float, float>(static_cast<const float*>(parts), ranks, count,
                                     static_cast<float*>(sum));
    case device::DType::kBF16:
      return sum_parts<BFloat16, float>(static_cast<const BFloat16*>(parts), ranks, count,
                                        static_cast<BFloat16*>(sum));
    case device::DType::kE4M3:
    case device::DType::kE5M2:
      break;  // never reduced
  }
}

}  // namespace strata::comm
