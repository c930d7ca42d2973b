// Instructions of a whole warp: bf16 GEMMs of 16 x 8 x 16, and loads that distribute 8 x 8 matrices
// over its threads (PTX ISA, "mma.m16n8k16" and "ldmatrix"). Also asynchronous copies to shared
// memory ("cp.async").
#pragma once

#include "device/cuda/runtime/kernel.h"

#ifndef __CUDACC__
#include <emulated_tensor_cores.h>
#else

namespace strata::device::cuda {

// c += a b. Thread l has row l / 4 of c [16, 8], columns 2 (l % 4) and the next, then the same of
// row l / 4 + 8.
__device__ inline void mma_16x8x16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                   uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Starts a copy of 4, 8 or 16 bytes to shared memory. Unless `there`, it writes zeros and does not
// read `from`.
template <int kBytes>
__device__ inline void copy_later(void* to, const void* from, bool there) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16);
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  const auto global = __cvta_generic_to_global(from);
  const int bytes = there ? kBytes : 0;
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(address), "l"(global), "r"(bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                 :
                 : "r"(address), "l"(global), "n"(kBytes), "r"(bytes)
                 : "memory");
  }
}

// Waits for all copies that this thread has started.
__device__ inline void wait_for_copies() { asm volatile("cp.async.wait_all;" : : : "memory"); }

// Loads four matrices of 8 rows of 16 bytes. Thread l passes the address of row l % 8 of matrix l /
// 8 in shared memory, and receives row l / 4, elements 2 (l % 4) and the next, of every matrix.
__device__ inline void load_matrices(uint32_t (&matrices)[4], const uint16_t* row) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
               : "r"(address)
               : "memory");
}

// The same for the transpose of every matrix.
__device__ inline void load_matrices_transposed(uint32_t (&matrices)[4], const uint16_t* row) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
               : "r"(address)
               : "memory");
}

}  // namespace strata::device::cuda

#endif
