// The instructions of device/cuda/warpgroup_tensor_cores.h on the processor, by the PTX ISA: right
// operands are read where their descriptors say, and products are made, when they are waited for.
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

namespace emulated {

// Of an operand in rows of 128 bytes that are swizzled, element (k, n), as the canonical layouts of
// the PTX ISA place it ("Strides", "Asynchronous Warpgroup Level Matrix Shared Memory Layout").
template <bool kInnerRows>
float element_of(uint64_t descriptor, uint32_t k, uint32_t n) {
  const auto lower = static_cast<uint32_t>(descriptor),
             upper = static_cast<uint32_t>(descriptor >> 32);
  const uint32_t start = (lower & 0x3fff) << 4, leading = (lower >> 16 & 0x3fff) << 4;
  const uint32_t stride = (upper & 0x3fff) << 4;
  ::emulated_cuda::require(upper >> 30 == 1, "a swizzle of 128 bytes");
  ::emulated_cuda::require((upper >> 17 & 7) == 0, "a pattern that starts at 1024 bytes");
  const uint32_t offset = kInnerRows ? n / 64 * leading + n % 64 * 2 + k / 8 * stride + k % 8 * 128
                                     : n / 8 * stride + n % 8 * 128 + k * 2;
  const uint32_t place = start + offset;
  BFloat16 value;
  std::memcpy(&value.bits, ::emulated_cuda::shared_memory(place ^ (place >> 7 & 7) << 4), 2);
  return value;
}

}  // namespace emulated

template <bool kInnerRows, int kColumns>
void multiply_later(float (&c)[kColumns][4], const uint32_t (&a)[4], MatrixDescriptor b,
                    bool adds) {
  struct Left {
    uint32_t a[4];
  };
  const Left mine{{a[0], a[1], a[2], a[3]}};
  ::emulated_cuda::multiply_later([&c, mine, b = b.bits(), adds] {
    const ::emulated_cuda::WarpValues<Left> all(mine);
    const int lane = ::emulated_cuda::lane();
    for (int t = 0; t < kColumns; ++t) {
      for (int i = 0; i < 4; ++i) {
        const int row = lane / 4 + (i / 2) * 8, column = 8 * t + lane % 4 * 2 + i % 2;
        float sum = adds ? c[t][i] : 0.0f;
        for (int k = 0; k < 16; ++k) {
          sum += emulated::left_element(all, row, k) *
                 emulated::element_of<kInnerRows>(b, static_cast<uint32_t>(k),
                                                  static_cast<uint32_t>(column));
        }
        c[t][i] = sum;
      }
    }
  });
}

}  // namespace strata::device::cuda
