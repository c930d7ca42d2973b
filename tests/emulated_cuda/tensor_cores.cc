// Products of tensor cores on the processor, a whole warp's at once, with the layouts of the PTX
// ISA.
#include "tests/emulated_cuda/tensor_cores.h"

#include <emulated_tensor_cores.h>

#include <bit>
#include <cstring>

using emulated_cuda::require;

namespace {

constexpr int kWarpSize = 32, kRows = 16, kTerms = 16;

float from_bfloat16(uint32_t bits) { return std::bit_cast<float>(bits << 16); }
float half_of(uint32_t pair, int which) { return from_bfloat16(pair >> (16 * which) & 0xffffu); }

// Gathers a left operand [16, 16] from the registers `of(lane)` of each thread.
template <typename Of>
void gather_left(float (&left)[kRows][kTerms], const Of& of) {
  for (int lane = 0; lane < kWarpSize; ++lane) {
    const uint32_t(&a)[4] = of(lane);
    for (int i = 0; i < 8; ++i) {
      left[lane / 4 + i / 2 % 2 * 8][lane % 4 * 2 + i % 2 + i / 4 * 8] = half_of(a[i / 2], i % 2);
    }
  }
}

// Position of element i of thread `lane` in a result [16, 8].
int row_of(int lane, int i) { return lane / 4 + i / 2 * 8; }
int column_of(int lane, int i) { return lane % 4 * 2 + i % 2; }

// sums [16, kColumns] += left [16, 16] right [16, kColumns], one term after the other.
template <int kColumns>
void add_products(float (&sums)[kRows][kColumns], const float (&left)[kRows][kTerms],
                  const float (&right)[kTerms][kColumns], int terms) {
  for (int row = 0; row < kRows; ++row) {
    float line[kColumns];
    for (int column = 0; column < kColumns; ++column) line[column] = sums[row][column];
    for (int k = 0; k < terms; ++k) {
      for (int column = 0; column < kColumns; ++column) {
        line[column] += left[row][k] * right[k][column];
      }
    }
    for (int column = 0; column < kColumns; ++column) sums[row][column] = line[column];
  }
}

// Reads shared memory in swizzled rows of 128 bytes, according to the canonical layouts of the PTX
// ISA ("Strides", "Asynchronous Warpgroup Level Matrix Shared Memory Layout").
template <int kColumns>
void gather_described(float (&right)[kTerms][kColumns], uint64_t descriptor, bool inner_rows) {
  const auto lower = static_cast<uint32_t>(descriptor),
             upper = static_cast<uint32_t>(descriptor >> 32);
  const uint32_t start = (lower & 0x3fff) << 4, leading = (lower >> 16 & 0x3fff) << 4;
  const uint32_t stride = (upper & 0x3fff) << 4;
  require(upper >> 30 == 1, "a swizzle of 128 bytes");
  require((upper >> 17 & 7) == 0, "a pattern that starts at 1024 bytes");
  const auto* shared = static_cast<const char*>(emulated_cuda::shared_memory(0));
  for (uint32_t k = 0; k < kTerms; ++k) {
    for (uint32_t n = 0; n < kColumns; ++n) {
      const uint32_t offset = inner_rows
                                  ? n / 64 * leading + n % 64 * 2 + k / 8 * stride + k % 8 * 128
                                  : n / 8 * stride + n % 8 * 128 + k * 2;
      const uint32_t place = start + offset;
      uint16_t bits;
      std::memcpy(&bits, shared + (place ^ (place >> 7 & 7) << 4), sizeof bits);
      right[k][n] = from_bfloat16(bits);
    }
  }
}

template <int kColumns>
void multiply_columns(const emulated_cuda::WarpValues<const emulated_cuda::Product*>& all) {
  ++emulated_cuda::wgmma_products;
  const emulated_cuda::Product& first = *all.of(0);
  for (int lane = 0; lane < kWarpSize; ++lane) {
    const emulated_cuda::Product& product = *all.of(lane);
    require(product.b == first.b && product.columns == first.columns &&
                product.inner_rows == first.inner_rows && product.adds == first.adds,
            "the same product of all threads of a warp");
  }
  float left[kRows][kTerms], right[kTerms][kColumns], sums[kRows][kColumns] = {};
  gather_left(left, [&](int lane) -> const uint32_t(&)[4] { return all.of(lane)->a; });
  gather_described(right, first.b, first.inner_rows);
  const auto for_each_sum = [&](const auto& body) {
    for (int lane = 0; lane < kWarpSize; ++lane) {
      for (int t = 0; t < kColumns / 8; ++t) {
        for (int i = 0; i < 4; ++i) {
          body(all.of(lane)->c[t][i], sums[row_of(lane, i)][8 * t + column_of(lane, i)]);
        }
      }
    }
  };
  if (first.adds) for_each_sum([](float c, float& sum) { sum = c; });
  add_products(sums, left, right, emulated_cuda::wgmma_is_wrong ? kTerms - 1 : kTerms);
  for_each_sum([](float& c, float sum) { c = sum; });
}

}  // namespace

namespace strata::device::cuda::emulated {

void multiply_16x8x16(const ::emulated_cuda::WarpValues<Operands>& all) {
  ++::emulated_cuda::mma_products;
  float left[kRows][kTerms], right[kTerms][8], sums[kRows][8];
  gather_left(left, [&](int lane) -> const uint32_t(&)[4] { return all.of(lane).a; });
  for (int lane = 0; lane < kWarpSize; ++lane) {
    for (int i = 0; i < 4; ++i) {
      right[lane % 4 * 2 + i % 2 + i / 2 * 8][lane / 4] = half_of(all.of(lane).b[i / 2], i % 2);
      sums[row_of(lane, i)][column_of(lane, i)] = all.of(lane).c[i];
    }
  }
  add_products(sums, left, right, emulated_cuda::mma_is_wrong ? kTerms - 1 : kTerms);
  for (int lane = 0; lane < kWarpSize; ++lane) {
    for (int i = 0; i < 4; ++i) all.of(lane).c[i] = sums[row_of(lane, i)][column_of(lane, i)];
  }
}

}  // namespace strata::device::cuda::emulated

namespace emulated_cuda {

void multiply(const WarpValues<const Product*>& all) {
  switch (all.of(0)->columns) {
    case 32:
      return multiply_columns<32>(all);
    case 64:
      return multiply_columns<64>(all);
  }
  fail("products of 32 or 64 columns");
}

}  // namespace emulated_cuda
