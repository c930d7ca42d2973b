// Products of a warp, which one thread computes for all.
#pragma once

#include <cuda_runtime.h>

namespace emulated_cuda {

// Number of products so far.
inline int64_t mma_products = 0, wgmma_products = 0;

// Computes a product of 16 rows; every thread of the warp has a part.
void multiply(const WarpValues<const Product*>& all);

}  // namespace emulated_cuda
