// The arithmetic of an all-reduce.
#pragma once

#include <cstdint>

#include "device/dtype.h"

namespace strata::comm {

// sum[i] = parts[0 * count + i] + parts[1 * count + i] + ... over `ranks` parts, added in rank
// order: f64 in f64, f32 and bf16 in f32, bf16 rounded once at the end. `sum` is not part of
// `parts`.
void sum_in_rank_order(const void* parts, int ranks, int64_t count, device::DType dtype, void* sum);

}  // namespace strata::comm
