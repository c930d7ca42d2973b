#include <algorithm>

#include "device/cuda/float8.h"
#include "device/cuda/kernel.h"
#include "device/cuda/operations.h"

namespace strata::device::cuda {
namespace {

constexpr int kThreads = 256, kVector8 = 8;  // elements a thread takes at a time

// Two codes, x's in the lower byte.
template <typename Format>
__device__ inline uint16_t two_codes(float x, float y) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  uint16_t codes;
  if constexpr (Format::kMantissaBits == 3) {
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(y), "f"(x));
  } else {
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(y), "f"(x));
  }
  return codes;
#else
  return static_cast<uint16_t>(to_float8<Format>(x) | static_cast<uint16_t>(to_float8<Format>(y))
                                                          << 8);
#endif
}

// Threads combine what they saw. No number is below 0, so their bits are in their order, and the
// order in which blocks come does not matter.
__device__ inline void raise(float largest, float* to) {
  largest = block_max<kThreads>(largest);
  if (threadIdx.x == 0) atomicMax(reinterpret_cast<int*>(to), __float_as_int(largest));
}

__device__ inline float largest_of(const float (&x)[kVector8]) {
  float largest = 0.0f;
#pragma unroll
  for (int i = 0; i < kVector8; ++i) largest = fmaxf(largest, fabsf(x[i]));
  return largest;
}

// `codes` null: only looks.
template <typename Format, typename T>
__global__ void __launch_bounds__(kThreads)
    round_kernel(const T* x, int64_t packs, Float8Scaling scaling, uint8_t* codes) {
  const float scale = codes ? scaling.scale[0] : 0.0f;
  float largest = 0.0f;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < packs;
       i += int64_t{gridDim.x} * kThreads) {
    float values[kVector8];
    load(x + i * kVector8, values);
    largest = fmaxf(largest, largest_of(values));
    if (!codes) continue;
    Pack<uint16_t, kVector8 / 2> pack;
#pragma unroll
    for (int j = 0; j < kVector8; j += 2) {
      pack.values[j / 2] = two_codes<Format>(values[j] * scale, values[j + 1] * scale);
    }
    *reinterpret_cast<Pack<uint16_t, kVector8 / 2>*>(codes + i * kVector8) = pack;
  }
  if (scaling.largest) raise(largest, scaling.largest);
}

constexpr int kTile = 64;

// Columns of 80 bytes keep 16-byte accesses aligned.
struct alignas(16) CodeTile {
  uint8_t codes[kTile][kTile + 16];  // [column][row]
};

// A block transposes a tile of 64 x 64.
template <typename Format, typename T>
__global__ void __launch_bounds__(kThreads)
    round_transposed_kernel(const T* x, int64_t rows, int64_t columns, int64_t column_tiles,
                            const float* scale_memory, uint8_t* codes) {
  __shared__ CodeTile tile;
  const float scale = scale_memory[0];
  const int64_t first_row = blockIdx.x / column_tiles * kTile;
  const int64_t first_column = blockIdx.x % column_tiles * kTile;
  constexpr int kPacks = kTile / kVector8;
  for (int i = static_cast<int>(threadIdx.x); i < kTile * kPacks; i += kThreads) {
    // Neighbouring threads take neighbouring packs of a row.
    const int row = i / kPacks, column = i % kPacks * kVector8;
    if (first_row + row >= rows || first_column + column >= columns) continue;
    float values[kVector8];
    load(x + (first_row + row) * columns + first_column + column, values);
#pragma unroll
    for (int j = 0; j < kVector8; j += 2) {
      const uint16_t two = two_codes<Format>(values[j] * scale, values[j + 1] * scale);
      tile.codes[column + j][row] = static_cast<uint8_t>(two);
      tile.codes[column + j + 1][row] = static_cast<uint8_t>(two >> 8);
    }
  }
  __syncthreads();
  constexpr int kChunks = kTile / 16;
  for (int i = static_cast<int>(threadIdx.x); i < kTile * kChunks; i += kThreads) {
    const int column = i / kChunks, row = i % kChunks * 16;
    if (first_row + row >= rows || first_column + column >= columns) continue;
    *reinterpret_cast<Pack<uint8_t, 16>*>(codes + (first_column + column) * rows + first_row +
                                          row) =
        *reinterpret_cast<const Pack<uint8_t, 16>*>(&tile.codes[column][row]);
  }
}

// A thread a tensor.
__global__ void __launch_bounds__(kThreads) update_kernel(Float8Update op) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= op.count) return;
  update_float8_scale(op.limit, op.largest[i], op.history + i * kFloat8History, op.scales + 2 * i);
}

}  // namespace

template <typename Format, typename T>
void round_to_float8(const Context& context, const T* x, int64_t count,
                     const Float8Scaling& scaling, uint8_t* codes) {
  // Few enough blocks that raising one number is no queue.
  const int64_t packs = count / kVector8, most = 8 * int64_t{context.multiprocessors};
  launch(context.stream, std::min(ceil_div(packs, kThreads), most), kThreads,
         round_kernel<Format, T>, x, packs, scaling, codes);
}

template <typename Format, typename T>
void round_to_float8_transposed(const Context& context, const T* x, int64_t rows, int64_t columns,
                                const float* scale, uint8_t* codes) {
  const int64_t column_tiles = ceil_div(columns, kTile);
  launch(context.stream, ceil_div(rows, kTile) * column_tiles, kThreads,
         round_transposed_kernel<Format, T>, x, rows, columns, column_tiles, scale, codes);
}

template <typename T>
void raise_to_largest(const Context& context, const T* x, int64_t count, float* largest) {
  round_to_float8<E4M3>(context, x, count, Float8Scaling{.largest = largest}, nullptr);
}

void FlatOperations::float8_update(const Context& context, const Float8Update& op) {
  launch(context.stream, ceil_div(op.count, kThreads), kThreads, update_kernel, op);
}

template void round_to_float8<E4M3>(const Context&, const float*, int64_t, const Float8Scaling&,
                                    uint8_t*);
template void round_to_float8<E5M2>(const Context&, const float*, int64_t, const Float8Scaling&,
                                    uint8_t*);
template void round_to_float8<E4M3>(const Context&, const BFloat16*, int64_t, const Float8Scaling&,
                                    uint8_t*);
template void round_to_float8<E5M2>(const Context&, const BFloat16*, int64_t, const Float8Scaling&,
                                    uint8_t*);
template void round_to_float8_transposed<E4M3>(const Context&, const float*, int64_t, int64_t,
                                               const float*, uint8_t*);
template void round_to_float8_transposed<E5M2>(const Context&, const float*, int64_t, int64_t,
                                               const float*, uint8_t*);
template void round_to_float8_transposed<E4M3>(const Context&, const BFloat16*, int64_t, int64_t,
                                               const float*, uint8_t*);
template void round_to_float8_transposed<E5M2>(const Context&, const BFloat16*, int64_t, int64_t,
                                               const float*, uint8_t*);
template void raise_to_largest(const Context&, const float*, int64_t, float*);
template void raise_to_largest(const Context&, const BFloat16*, int64_t, float*);

}  // namespace strata::device::cuda
