// Attention's GEMMs with Hopper's `wgmma`: the block's four warps multiply 64 rows together and
// read each tile once, directly from shared memory.
#pragma once

#include "device/cuda/attention/tiles/attention_tile.h"
#include "device/cuda/gemm/warpgroup_tensor_cores.h"

namespace strata::device::cuda {

// Rows lie in the order of their columns; the swizzle is that of the instruction.
template <int kChunks>
struct WgmmaLayout {
  static_assert(kChunks == 8, "rows of 128 bytes");
  static constexpr int kAlignment = 1024;
  static __device__ int place(int row) {
    return row / 32 * 32 + row / 2 % 4 * 8 + row / 8 % 4 * 2 + row % 2;
  }
  static __device__ int swizzle(int row) { return place(row) % 8; }
};

// Like MmaGemm, but GEMMs are asynchronous: accumulators must not be read, nor tiles changed,
// before `finish`.
template <int kSize>
class WgmmaGemm {
 public:
  static constexpr bool kCompiled = kHasWgmma;
  static constexpr bool kWarpsTogether = true;
  static constexpr int kQueryPart = 4, kQueryUnroll = 2, kKeyPart = 4, kKeyUnroll = 2;
  using Tile = SharedTile<kSize, WgmmaLayout>;

  static __device__ void wait_for_tiles() {
    wait_for_copies();
    publish_to_products();
  }

  // Stops the kernel if a tile does not begin at a period of the instructions' swizzle.
  static __device__ void require_alignment([[maybe_unused]] const Tile& tile) {
#ifdef __CUDA_ARCH__
    uint32_t address = shared_address(tile.values);
    keep_in_place(address);  // otherwise the compiler trusts the declaration
    if (address % WgmmaLayout<kSize / 8>::kAlignment != 0) __trap();
#endif
  }

  template <int kColumns>
  __device__ void multiply_transposed(const LeftRows<kSize>& left, const Tile& right, int first,
                                      Accumulator<kColumns>& c) const {
    const MatrixDescriptor b = of_columns(right, first);
    begin_products();
#pragma unroll
    for (int step = 0; step < kSize / 16; ++step) {
      multiply_later<false>(c, left.steps[step], b + step * 32, step > 0);
    }
  }

  template <int kColumns>
  __device__ void multiply_add(const Accumulator<kColumns>& p, const Tile& tile, int first,
                               Accumulator<kSize / 8>& c) const {
    const MatrixDescriptor b = of_columns(tile, first);
    uint32_t left[kColumns / 2][4];
#pragma unroll
    for (int step = 0; step < kColumns / 2; ++step) {
      round_left<kColumns>(p, step, left[step]);
#pragma unroll
      for (uint32_t& element : left[step]) keep_in_place(element);
    }
    keep<kSize / 8>(c);
    begin_products();
#pragma unroll
    for (int step = 0; step < kColumns / 2; ++step) {
      multiply_later<true>(c, left[step], b + step * 16 * kRowBytes, true);
    }
  }

  template <int... kColumns>
  __device__ void finish(Accumulator<kColumns>&... accumulators) const {
    wait_for_products();
    (keep<kColumns>(accumulators), ...);
  }

 private:
  static constexpr int kRowBytes = 2 * kSize;

  static __device__ MatrixDescriptor of_columns(const Tile& tile, int first) {
    return MatrixDescriptor(shared_address(tile.values)) + first * 8 * kRowBytes;
  }

  template <int kColumns>
  static __device__ void keep(Accumulator<kColumns>& c) {
#pragma unroll
    for (int t = 0; t < kColumns; ++t) {
#pragma unroll
      for (int i = 0; i < 4; ++i) keep_in_place(c[t][i]);
    }
  }
};

}  // namespace strata::device::cuda
