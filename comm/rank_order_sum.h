// Arithmetic of an all-reduce.
#pragma once

#include <cstdint>

#include "device/operations/dtype.h"

namespace strata::comm {

// Summation of bf16.
struct Accumulation {
  bool in_bf16 = false;  // round after every addition; else sum in f32 and round once
  // Ranks are summed in chunks of this size, then the chunks' sums in chunks of this size, until
  // one sum is left. Sakr et al. (arXiv 1901.06588) describe one level. At least 2, or 0 for a
  // single chunk, as in a ring that rounds at every hop. Requires in_bf16.
  int chunk = 0;
};

// Computes sum[i] = parts[0 * count + i] + parts[1 * count + i] + ... over `ranks` parts, in rank
// order. Sums f64 in f64, f32 in f32, f16 in f32 with one rounding, bf16 according to
// `accumulation`. parts [ranks, count] and sum [count] have `dtype`, lie in host memory and do not
// overlap. Requires `ranks` >= 1. Leaves `sum` unchanged for other dtypes.
void sum_in_rank_order(const void* parts, int ranks, int64_t count, device::DType dtype, void* sum,
                       const Accumulation& accumulation = {});

}  // namespace strata::comm
