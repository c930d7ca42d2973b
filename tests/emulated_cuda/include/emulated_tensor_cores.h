// The instructions of device/cuda/tensor_cores.h on the processor, by the layouts of the PTX ISA.
#pragma once

#include <bit>

#include "device/dtype.h"

namespace strata::device::cuda {

namespace emulated {

inline float half_of(uint32_t pair, int which) {
  BFloat16 value;
  value.bits = static_cast<uint16_t>(pair >> (16 * which));
  return value;
}

inline uint32_t two_of(const uint16_t* first, const uint16_t* second) {
  return uint32_t{*first} | uint32_t{*second} << 16;
}

template <bool kTransposed>
void load_four(uint32_t (&matrices)[4], const uint16_t* row) {
  const ::emulated_cuda::WarpValues<const uint16_t*> rows(row);
  const int major = ::emulated_cuda::lane() / 4, minor = ::emulated_cuda::lane() % 4 * 2;
  for (int m = 0; m < 4; ++m) {
    const auto element = [&](int r, int c) { return rows.of(8 * m + r) + c; };
    matrices[m] = kTransposed ? two_of(element(minor, major), element(minor + 1, major))
                              : two_of(element(major, minor), element(major, minor + 1));
  }
}

// Element (row, k) of a warp's left operand [16, 16], of which every thread has registers `a`.
template <typename Operands>
float left_element(const ::emulated_cuda::WarpValues<Operands>& all, int row, int k) {
  return half_of(all.of(row % 8 * 4 + k % 8 / 2).a[row / 8 + k / 8 * 2], k % 2);
}

}  // namespace emulated

inline void mma_16x8x16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  struct Operands {
    uint32_t a[4], b[2];
  };
  const Operands mine{{a[0], a[1], a[2], a[3]}, {b0, b1}};
  const ::emulated_cuda::WarpValues<Operands> all(mine);
  const int lane = ::emulated_cuda::lane();
  for (int i = 0; i < 4; ++i) {
    const int row = lane / 4 + (i / 2) * 8, column = lane % 4 * 2 + i % 2;
    for (int k = 0; k < 16; ++k) {
      const int of_b = column * 4 + k % 8 / 2;
      c[i] += emulated::left_element(all, row, k) * emulated::half_of(all.of(of_b).b[k / 8], k % 2);
    }
  }
}

template <int kBytes>
void copy_later(void* to, const void* from, bool there) {
  ::emulated_cuda::copy_later(to, from, there ? kBytes : 0, there ? 0 : kBytes);
}

inline void wait_for_copies() { ::emulated_cuda::finish_copies(); }

inline void load_matrices(uint32_t (&matrices)[4], const uint16_t* row) {
  emulated::load_four<false>(matrices, row);
}

inline void load_matrices_transposed(uint32_t (&matrices)[4], const uint16_t* row) {
  emulated::load_four<true>(matrices, row);
}

}  // namespace strata::device::cuda
