// The instructions of device/cuda/gemm/warpgroup_tensor_cores.h on the processor, according to the
// PTX ISA. Right operands are read at their descriptors' addresses, and products are computed, when
// they are waited for.
#pragma once

#include <emulated_tensor_cores.h>

namespace strata::device::cuda {

inline uint32_t shared_address(const void* pointer) {
  return ::emulated_cuda::shared_address(pointer);
}

inline void publish_to_products() { ::emulated_cuda::publish_copies(); }

inline void keep_in_place(float&) {}
inline void keep_in_place(uint32_t&) {}
inline void begin_products() { ::emulated_cuda::begin_products(); }
inline void wait_for_products() { ::emulated_cuda::finish_products(); }

template <bool kInnerRows, int kColumns>
void multiply_later(float (&c)[kColumns][4], const uint32_t (&a)[4], MatrixDescriptor b,
                    bool adds) {
  ::emulated_cuda::multiply_later(
      {c, {a[0], a[1], a[2], a[3]}, b.bits(), 8 * kColumns, kInnerRows, adds});
}

}  // namespace strata::device::cuda
