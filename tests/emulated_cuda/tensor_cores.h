// Products of a warp, computed by one thread for all.
#pragma once

#include <cuda_runtime.h>

namespace emulated_cuda {

// Instructions of warps so far.
inline int64_t mma_products = 0, wgmma_products = 0;

// Of 16 rows: a part from every thread of the warp.
void multiply(const WarpValues<const Product*>& all);

}  // namespace emulated_cuda
