// Sorts rows that share a table entry, to fix the order of their sum.
#pragma once

#include "device/cuda/runtime/runtime.h"

namespace strata::device::cuda {

// Rows [count] sorted by their ids, equal ids in the order of their rows; device memory.
struct SortedRows {
  const int32_t* ids;
  const int32_t* rows;
};

// `ids` [count] are in [0, limit). Uses scratch slots `slot` and `slot + 1`; the result lies in the
// first.
SortedRows sort_rows(const Context& context, const int32_t* ids, int64_t count, int64_t limit,
                     int slot);

}  // namespace strata::device::cuda
