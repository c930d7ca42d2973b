// What LayerNorm's backward adds to its parameters' gradients, wherever it is part of an operation.
#pragma once

#include <algorithm>

#include "device/cpu/parallel.h"

namespace strata::device::cpu {

// Calls backward(begin, end, d_gamma_part, d_beta_part) for ranges of `rows` on all threads, and
// adds the parts' sums to d_gamma and d_beta [hidden] f32.
template <typename Backward>
void add_layernorm_gradients(const Context& context, int64_t rows, const Tensor& d_gamma,
                             const Tensor& d_beta, const Backward& backward) {
  const int64_t hidden = d_gamma.size();
  // Both sums side by side.
  float* sums = context.scratch[0].get<float>(2 * hidden);
  std::fill_n(sums, 2 * hidden, 0.0f);
  parallel_sums(context, rows, 2 * hidden, 1, sums,
                [&](int64_t begin, int64_t end, float* partial) {
                  backward(begin, end, partial, partial + hidden);
                });
  context.kernels.add_f32(hidden, sums, d_gamma.as<float>());
  context.kernels.add_f32(hidden, sums + hidden, d_beta.as<float>());
}

}  // namespace strata::device::cpu
