#include "comm/rank_order_sum.h"

#include <algorithm>
#include <array>

namespace strata::comm {
namespace {

// The running sums of a block fit in the first-level cache.
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

// Enough for 2^31 parts in chunks of at least 2; each level has a block of running sums.
constexpr int kLevels = 32;
constexpr int64_t kSmallBlock = 256;  // all levels of such blocks fit in the first-level cache

// Blocks of `size` elements, `stride` elements apart.
struct Parts {
  const device::BFloat16* data;
  int count;
  int64_t stride;
  int64_t size;

  Parts at(int64_t first, int64_t most) const {
    return {data + first * stride, static_cast<int>(std::min(most, count - first)), stride, size};
  }
};

float in_bf16(float value) { return float{device::BFloat16(value)}; }

void add_in_a_row(const Parts& parts, float* sum) {
  for (int64_t i = 0; i < parts.size; ++i) sum[i] = float{parts.data[i]};
  for (int part = 1; part < parts.count; ++part) {
    const device::BFloat16* terms = parts.data + part * parts.stride;
    for (int64_t i = 0; i < parts.size; ++i) sum[i] = in_bf16(sum[i] + float{terms[i]});
  }
}

// Sums up to `in_chunk` parts. `in_chunk` is a power of `chunk` and at least parts.count. The
// memory after `sum` has a block for every lower level.
void add_in_chunks(const Parts& parts, int64_t in_chunk, int chunk, float* sum) {
  if (in_chunk <= chunk) return add_in_a_row(parts, sum);
  const int64_t below = in_chunk / chunk;
  add_in_chunks(parts.at(0, below), below, chunk, sum);
  for (int64_t first = below; first < parts.count; first += below) {
    float* terms = sum + kSmallBlock;
    add_in_chunks(parts.at(first, below), below, chunk, terms);
    for (int64_t i = 0; i < parts.size; ++i) sum[i] = in_bf16(sum[i] + terms[i]);
  }
}

void sum_in_bf16(const device::BFloat16* parts, int ranks, int64_t count, int chunk,
                 device::BFloat16* sum) {
  std::array<float, kLevels * kSmallBlock> levels;
  if (chunk == 0) chunk = std::max(ranks, 2);
  int64_t in_chunk = chunk;
  while (in_chunk < ranks) in_chunk *= chunk;
  for (int64_t begin = 0; begin < count; begin += kSmallBlock) {
    const Parts block{parts + begin, ranks, count, std::min(kSmallBlock, count - begin)};
    add_in_chunks(block, in_chunk, chunk, levels.data());
    for (int64_t i = 0; i < block.size; ++i) sum[begin + i] = levels[i];
  }
}

}  // namespace

void sum_in_rank_order(const void* parts, int ranks, int64_t count, device::DType dtype, void* sum,
                       const Accumulation& accumulation) {
  using device::BFloat16;
  using device::Float16;
  switch (dtype) {
    case device::DType::kF64:
      return sum_parts<double, double>(static_cast<const double*>(parts), ranks, count,
                                       static_cast<double*>(sum));
    case device::DType::kF32:
      return sum_parts<float, float>(static_cast<const float*>(parts), ranks, count,
                                     static_cast<float*>(sum));
    case device::DType::kBF16:
      if (accumulation.in_bf16) {
        return sum_in_bf16(static_cast<const BFloat16*>(parts), ranks, count, accumulation.chunk,
                           static_cast<BFloat16*>(sum));
      }
      return sum_parts<BFloat16, float>(static_cast<const BFloat16*>(parts), ranks, count,
                                        static_cast<BFloat16*>(sum));
    case device::DType::kF16:
      return sum_parts<Float16, float>(static_cast<const Float16*>(parts), ranks, count,
                                       static_cast<Float16*>(sum));
    case device::DType::kE4M3:
    case device::DType::kE5M2:
      break;  // gradients are never FP8
  }
}

}  // namespace strata::comm
