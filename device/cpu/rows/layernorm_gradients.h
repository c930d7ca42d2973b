// Gradients of LayerNorm's parameters, for all operations with its backward.
#pragma once

#include "device/cpu/kernels/parallel.h"

namespace strata::device::cpu {

// Calls backward(begin, end, d_gamma_part, d_beta_part) for ranges of `rows` on all threads. Writes
// the parts' sums to op.d_gamma and op.d_beta [hidden] f32, or adds them.
template <typename Op, typename Backward>
void layernorm_gradients(const Context& context, int64_t rows, const Op& op,
                         const Backward& backward) {
  const int64_t hidden = op.d_gamma.size();
  // Both sums side by side.
  float* sums = context.scratch[0].get<float>(2 * hidden);
  parallel_sums(context, rows, 2 * hidden, 1, false, sums,
                [&](int64_t begin, int64_t end, float* partial) {
                  backward(begin, end, partial, partial + hidden);
                });
  write_or_add(context, op.accumulate, hidden, sums, op.d_gamma.template as<float>());
  write_or_add(context, op.accumulate, hidden, sums + hidden, op.d_beta.template as<float>());
}

}  // namespace strata::device::cpu
