// Distribution of flat ranges over threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "device/cpu/kernels/parallel.h"

namespace strata::device::cpu {

// Ranges are split at multiples of this, so that splits do not depend on alignment.
inline constexpr int64_t kGrain = 4096;

// Threads for `blocks` times kGrain elements. Below eight blocks, waking a thread costs more than
// it saves, and much more if other programs use its processor.
inline int worthwhile_threads(int threads, int64_t blocks) {
  return static_cast<int>(std::clamp<int64_t>(blocks / 8, 1, threads));
}

// Calls work(begin, end) over all of [0, count), one part per thread.
template <typename Work>
void parallel_elements(int threads, int64_t count, const Work& work) {
  const int64_t blocks = (count + kGrain - 1) / kGrain;
  parallel_ranges(worthwhile_threads(threads, blocks), blocks,
                  [&](int64_t begin, int64_t end, int) {
                    work(begin * kGrain, std::min(end * kGrain, count));
                  });
}

// Returns the sum of sum(begin, end) over the blocks of [0, count), added in order from Sum{}. The
// result does not depend on the number of threads.
template <typename Work>
auto block_sums(const Context& context, int64_t count, const Work& sum) {
  using Sum = decltype(sum(int64_t{0}, int64_t{0}));
  const int64_t blocks = (count + kGrain - 1) / kGrain;
  Sum* parts = context.scratch[0].template get<Sum>(std::max<int64_t>(blocks, 1));
  parallel_ranges(worthwhile_threads(context.threads, blocks), blocks,
                  [&](int64_t first, int64_t last, int) {
                    for (int64_t block = first; block < last; ++block) {
                      parts[block] = sum(block * kGrain, std::min((block + 1) * kGrain, count));
                    }
                  });
  Sum total{};
  for (int64_t block = 0; block < blocks; ++block) total += parts[block];
  return total;
}

inline float clip_factor(const double* norm_squared, float max_norm) {
  const double norm = std::sqrt(*norm_squared);
  return norm > max_norm ? static_cast<float>(max_norm / norm) : 1.0f;
}

}  // namespace strata::device::cpu
