// The last step of kernels whose warps each sum columns over their rows.
#pragma once

#include "device/cuda/runtime/kernel.h"

namespace strata::device::cuda {

// A lane has the sums of V neighbouring columns over its warp's rows. Adds them over the warps, in
// order, and writes those of the block's first `columns` columns to `part`. All threads of the
// block call together, with `of_warps` in shared memory.
template <int kWarps, int V>
__device__ inline void write_block_sums(float (&of_warps)[kWarps][kWarpSize * V],
                                        const float (&sums)[V], int64_t columns, float* part) {
#pragma unroll
  for (int i = 0; i < V; ++i) of_warps[warp()][lane() * V + i] = sums[i];
  __syncthreads();
  const int i = static_cast<int>(threadIdx.x);
  if (i >= kWarpSize * V || i >= columns) return;
  float sum = 0.0f;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) sum += of_warps[w][i];
  part[i] = sum;
}

}  // namespace strata::device::cuda
