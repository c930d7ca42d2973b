// The instructions of device/cuda/gemm/tensor_cores.h on the processor, with the layouts of the PTX
// ISA.
#pragma once

#include "device/operations/dtype.h"

namespace strata::device::cuda {

namespace emulated {

// Not instrumented, because its accesses are already counted as those of the instruction.
[[gnu::no_sanitize_thread]] inline uint32_t two_of(const uint16_t* first, const uint16_t* second) {
  return uint32_t{*first} | uint32_t{*second} << 16;
}

template <bool kTransposed>
void load_four(uint32_t (&matrices)[4], const uint16_t* row) {
  ::emulated_cuda::note_access(row, 16);
  const ::emulated_cuda::WarpValues<const uint16_t*> rows(row);
  const int major = ::emulated_cuda::lane() / 4, minor = ::emulated_cuda::lane() % 4 * 2;
  for (int m = 0; m < 4; ++m) {
    const auto element = [&](int r, int c) { return rows.of(8 * m + r) + c; };
    matrices[m] = kTransposed ? two_of(element(minor, major), element(minor + 1, major))
                              : two_of(element(major, minor), element(major, minor + 1));
  }
}

// One thread's part of a product of 16 x 8 x 16.
struct Operands {
  float* c;
  uint32_t a[4], b[2];
};
void multiply_16x8x16(const ::emulated_cuda::WarpValues<Operands>& all);

}  // namespace emulated

inline void mma_16x8x16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  const emulated::Operands mine{c, {a[0], a[1], a[2], a[3]}, {b0, b1}};
  ::emulated_cuda::WarpValues<emulated::Operands>(mine, emulated::multiply_16x8x16);
}

template <int kBytes>
void copy_later(void* to, const void* from, bool there) {
  ::emulated_cuda::note_access(to, kBytes);
  if (there) ::emulated_cuda::note_access(from, kBytes);
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
