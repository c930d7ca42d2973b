// Instructions of four warps together (a warpgroup): asynchronous bf16 GEMMs whose right operand
// stays in shared memory (PTX ISA, "wgmma.mma_async"). Only GPUs of compute capability 9.0 have
// them.
#pragma once

#include "device/cuda/runtime/kernel.h"

namespace strata::device::cuda {

// True if this is compiled for a GPU that has them.
#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
inline constexpr bool kHasWgmma = false;
#else
inline constexpr bool kHasWgmma = true;
#endif

// Describes shared memory at `address`, with rows of 128 bytes, to the instructions (PTX ISA,
// "Matrix Descriptor Format"). Chunk c of row r, of 16 bytes, is at c ^ r % 8, and every eighth row
// at a multiple of 1024 bytes. It may be an operand [N, 16] with its rows in these rows, if the
// address is that of the first in its row, or an operand [16, 64] of 16 whole rows. The upper half
// is constant.
class MatrixDescriptor {
 public:
  static constexpr uint32_t kEightRows = 8 * 128 >> 4, kSwizzleOf128Bytes = 1;
  static constexpr uint32_t kUpper = kEightRows | kSwizzleOf128Bytes << 30;

  __device__ explicit MatrixDescriptor(uint32_t address)
      : MatrixDescriptor(address >> 4 | kEightRows << 16, 0) {}
  // Descriptor of the memory `bytes` later.
  __device__ MatrixDescriptor operator+(int bytes) const { return {lower_, bytes}; }
  __device__ uint64_t bits() const { return uint64_t{kUpper} << 32 | lower_; }

 private:
  __device__ MatrixDescriptor(uint32_t lower, int bytes)
      : lower_(lower + static_cast<uint32_t>(bytes >> 4)) {}

  uint32_t lower_;
};

}  // namespace strata::device::cuda

#ifndef __CUDACC__
#include <emulated_warpgroup_tensor_cores.h>
#else

namespace strata::device::cuda {

// Returns the address in shared memory for the instructions.
__device__ inline uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// Makes this thread's writes to shared memory visible to later GEMMs.
__device__ inline void publish_to_products() {
  asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
}

// Prevents compilers from moving the registers of GEMMs between here and the GEMMs, and between
// these and wait_for_products.
__device__ inline void keep_in_place(float& x) { asm volatile("" : "+f"(x) : : "memory"); }
__device__ inline void keep_in_place(uint32_t& x) { asm volatile("" : "+r"(x) : : "memory"); }

// Must precede the first GEMM after a change of its registers.
__device__ inline void begin_products() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
#endif
}

// Ends a group of GEMMs, and waits for all of them.
__device__ inline void wait_for_products() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile(
      "wgmma.commit_group.sync.aligned;\n"
      "wgmma.wait_group.sync.aligned 0;"
      :
      :
      : "memory");
#endif
}

// Starts c = a b, or c += a b with `adds`. A warp has 16 rows of a [64, 16] and of c [64, 8
// kColumns], in the layout of 16 x 8 x 16. b is [8 kColumns, 16] with rows of 128 bytes or, with
// `kInnerRows`, [16, 8 kColumns].
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define STRATA_ACCUMULATORS(t) "+f"(c[t][0]), "+f"(c[t][1]), "+f"(c[t][2]), "+f"(c[t][3])
#define STRATA_OPERANDS \
  "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b.bits()), "r"(int{adds}), "n"(int{kInnerRows})
#endif

template <bool kInnerRows>
__device__ inline void multiply_later(float (&c)[4][4], const uint32_t (&a)[4], MatrixDescriptor b,
                                      bool adds) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile(
      "{ .reg .pred adds; setp.ne.b32 adds, %21, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
      "{%16, %17, %18, %19}, %20, adds, 1, 1, %22; }"
      : STRATA_ACCUMULATORS(0), STRATA_ACCUMULATORS(1), STRATA_ACCUMULATORS(2),
        STRATA_ACCUMULATORS(3)
      : STRATA_OPERANDS);
#endif
}

template <bool kInnerRows>
__device__ inline void multiply_later(float (&c)[8][4], const uint32_t (&a)[4], MatrixDescriptor b,
                                      bool adds) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile(
      "{ .reg .pred adds; setp.ne.b32 adds, %37, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "{%32, %33, %34, %35}, %36, adds, 1, 1, %38; }"
      : STRATA_ACCUMULATORS(0), STRATA_ACCUMULATORS(1), STRATA_ACCUMULATORS(2),
        STRATA_ACCUMULATORS(3), STRATA_ACCUMULATORS(4), STRATA_ACCUMULATORS(5),
        STRATA_ACCUMULATORS(6), STRATA_ACCUMULATORS(7)
      : STRATA_OPERANDS);
#endif
}

#undef STRATA_ACCUMULATORS
#undef STRATA_OPERANDS

}  // namespace strata::device::cuda

#endif
