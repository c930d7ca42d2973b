// The arithmetic of an all-reduce.
#pragma once

#include <cstdint>

#include "device/operations/dtype.h"

namespace strata::comm {

// How bf16 is added up.
struct Accumulation {
  bool in_bf16 = false;  // rounded after every addition; else in f32, rounded once
  // Of in_bf16: ranks are added in chunks of so many, then the sums of as many chunks, and so on
  // until one is left (Sakr et al., arXiv 1901.06588, whose chunks have one level). At least 2; 0,
  // or not fewer than there are ranks: in one row, as a ring does that rounds at every hop.
  int chunk = 0;
};

// sum[i] = parts[0 * count + i] + parts[1 * count + i] + ... over `ranks` parts, added in rank
// order: f64 in f64, f32 in f32, f16 in f32 and rounded once, bf16 as `accumulation` says. parts
// [ranks, count] and sum [count] are of `dtype`, in host memory, and do not overlap; `ranks` is at
// least 1. Other dtypes leave `sum` as it is.
void sum_in_rank_order(const void* parts, int ranks, int64_t count, device::DType dtype, void* sum,
                       const Accumulation& accumulation = {});

}  // namespace strata::comm
