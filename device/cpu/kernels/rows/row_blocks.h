// Cuts any number of rows into blocks of few different sizes, so that compiled GEMMs are reused.
#pragma once

#include <algorithm>
#include <cstdint>

namespace strata::device::cpu {

inline constexpr int64_t kRowUnit = 64;  // block sizes are multiples of this
// The largest block; its activations stay in the L2 cache.
inline constexpr int64_t kRowBlock = 512;

// Calls block(begin, rows) for consecutive blocks whose sizes are multiples of kRowUnit up to
// kRowBlock, then tail(begin, rows) for the remaining rows, fewer than kRowUnit.
template <typename Block, typename Tail>
void for_each_row_block(int64_t rows, const Block& block, const Tail& tail) {
  int64_t begin = 0;
  while (rows - begin >= kRowUnit) {
    const int64_t size = std::min(kRowBlock, (rows - begin) / kRowUnit * kRowUnit);
    block(begin, size);
    begin += size;
  }
  if (begin < rows) tail(begin, rows - begin);
}

constexpr int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace strata::device::cpu
