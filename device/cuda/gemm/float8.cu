#include "device/cuda/gemm/column_sums.h"
#include "device/cuda/gemm/float8.h"
#include "device/cuda/gemm/float8_writer.h"
#include "device/cuda/runtime/flat.h"
#include "device/cuda/runtime/operations.h"

namespace strata::device::cuda {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / kWarpSize;

constexpr int kRounded = 8;  // elements at a time

template <typename Format, typename T>
__global__ void __launch_bounds__(kFlatThreads)
    round_kernel(const T* x, int64_t count, Float8Copy float8_copy) {
  Float8Writer<Format> copy(float8_copy);
  for (int64_t i = flat_index<kRounded>(); i < count; i += flat_stride<kRounded>()) {
    float values[kRounded];
    load(x + i, values);
    copy.write(i, values);
  }
  copy.finish();
}

// ---- Transposition. A block takes a tile of 128 x 128 codes, a thread patches of 4 x 4, as words
// of four codes.

constexpr int kTile = 128, kPatch = 4, kTileWords = kTile / kPatch;

struct TransposedTile {
  // Columns of the tile are 33 words apart. The patches that a warp stores together, 8 next to each
  // other and 4 below each other, then use 32 banks.
  uint32_t words[kTile * (kTileWords + 1)];

  __device__ uint32_t& at(int column, int row_word) {
    return words[column * (kTileWords + 1) + row_word];
  }
};

// rows[i] has codes (i, 0), (i, 1), ...; columns[j] receives (0, j), (1, j), ...
__device__ inline void transpose_patch(const uint32_t (&rows)[kPatch],
                                       uint32_t (&columns)[kPatch]) {
  const uint32_t low_01 = __byte_perm(rows[0], rows[1], 0x5140);
  const uint32_t low_23 = __byte_perm(rows[2], rows[3], 0x5140);
  const uint32_t high_01 = __byte_perm(rows[0], rows[1], 0x7362);
  const uint32_t high_23 = __byte_perm(rows[2], rows[3], 0x7362);
  columns[0] = __byte_perm(low_01, low_23, 0x5410);
  columns[1] = __byte_perm(low_01, low_23, 0x7632);
  columns[2] = __byte_perm(high_01, high_23, 0x5410);
  columns[3] = __byte_perm(high_01, high_23, 0x7632);
}

__device__ inline float from_e5m2(uint8_t code) {
#ifdef __CUDA_ARCH__
  float x;
  asm("{ .reg .f16 half; mov.b16 half, %1; cvt.f32.f16 %0, half; }"
      : "=f"(x)
      : "h"(static_cast<uint16_t>(code << 8)));
  return x;
#else
  return from_float8<E5M2>(code);
#endif
}

// Sums of 32 columns by each warp; two warps share columns.
struct ColumnSums {
  static constexpr int kColumns = kTile / 4;
  float of_warps[kWarps][kColumns];
};

// Without `inverse_scale` computes no sums. Otherwise a block writes its columns' sums to parts
// [row tiles, columns].
__global__ void __launch_bounds__(kThreads)
    transpose_kernel(const uint8_t* x, int64_t rows, int64_t columns, int64_t column_tiles,
                     uint8_t* codes, const float* inverse_scale, float* parts) {
  __shared__ TransposedTile tile;
  __shared__ ColumnSums column_sums;
  const int64_t row_tile = blockIdx.x / column_tiles;
  const int64_t first_row = row_tile * kTile, first_column = blockIdx.x % column_tiles * kTile;
  // A warp takes 8 patches side by side and 4 below each other at a time, in the same columns.
  const int column_word = warp() % 4 * 8 + lane() % 8;
  const int64_t patch_column = first_column + column_word * kPatch;
  float sums[kPatch] = {};
#pragma unroll
  for (int i = 0; i < kTileWords / 8; ++i) {
    const int row_word = i * 8 + warp() / 4 * 4 + lane() / 8;
    const int64_t row = first_row + row_word * kPatch;
    uint32_t of_rows[kPatch] = {}, of_columns[kPatch];
    if (row < rows && patch_column < columns) {
#pragma unroll
      for (int r = 0; r < kPatch; ++r) {
        of_rows[r] = *reinterpret_cast<const uint32_t*>(x + (row + r) * columns + patch_column);
      }
    }
    transpose_patch(of_rows, of_columns);
#pragma unroll
    for (int c = 0; c < kPatch; ++c) {
      tile.at(column_word * kPatch + c, row_word) = of_columns[c];
      if (!inverse_scale) continue;
#pragma unroll
      for (int r = 0; r < kPatch; ++r) {
        sums[c] += from_e5m2(static_cast<uint8_t>(of_columns[c] >> 8 * r));
      }
    }
  }
  if (inverse_scale) {
#pragma unroll
    for (int c = 0; c < kPatch; ++c) {
      sums[c] += __shfl_xor_sync(0xffffffffu, sums[c], 8);
      sums[c] += __shfl_xor_sync(0xffffffffu, sums[c], 16);
      if (lane() < 8) column_sums.of_warps[warp()][lane() * kPatch + c] = sums[c];
    }
  }
  __syncthreads();
  const int64_t row = first_row + lane() * kPatch;
  constexpr int kColumns = kTile / kWarps;  // columns that a warp writes
  const int first_here = warp() * kColumns;
  const int64_t columns_left = columns - first_column - first_here;
  const int columns_here = columns_left < kColumns ? static_cast<int>(columns_left) : kColumns;
  if (row < rows) {
    uint8_t* to = codes + (first_column + first_here) * rows + row;
#pragma unroll 4
    for (int i = 0; i < columns_here; ++i, to += rows) {
      *reinterpret_cast<uint32_t*>(to) = tile.at(first_here + i, lane());
    }
  }
  const int of_thread = static_cast<int>(threadIdx.x);
  if (!inverse_scale || of_thread >= kTile || first_column + of_thread >= columns) return;
  const int group = of_thread / ColumnSums::kColumns, in_group = of_thread % ColumnSums::kColumns;
  const float sum =
      column_sums.of_warps[group][in_group] + column_sums.of_warps[group + 4][in_group];
  parts[row_tile * columns + first_column + of_thread] = sum * *inverse_scale;
}

int64_t row_tiles_of(const ConstTensor& x) { return ceil_div(x.rows, kTile); }

void transpose(const Context& context, const ConstTensor& x, uint8_t* codes,
               const float* inverse_scale, float* parts) {
  const int64_t column_tiles = ceil_div(x.cols, kTile);
  launch(context.stream, row_tiles_of(x) * column_tiles, kThreads, transpose_kernel,
         x.as<uint8_t>(), x.rows, x.cols, column_tiles, codes, inverse_scale, parts);
}

// One thread per tensor.
__global__ void __launch_bounds__(kThreads) update_kernel(Float8Update op) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= op.count) return;
  update_float8_scale(op.limit, op.amax[i], op.history + i * kFloat8History, op.scales + 2 * i);
}

}  // namespace

template <typename T>
void write_float8_copy(const Context& context, const ConstTensor& x, const Float8Copy& copy) {
  if (!copy) return;
  require(x.size() % kRounded == 0 && are_aligned(x.data, copy.data.data),
          "the cuda backend rounds to FP8 only tensors that are aligned to 16 bytes");
  const auto kernel =
      copy.data.dtype == DType::kE5M2 ? round_kernel<E5M2, T> : round_kernel<E4M3, T>;
  launch(context.stream, limited_blocks(context, ceil_div(x.size() / kRounded, kFlatThreads)),
         kFlatThreads, kernel, x.as<T>(), x.size(), copy);
}

Tensor place_of_output(const Context& context, const Tensor& output, int slot) {
  Tensor place = output;
  if (!place) place.data = context.scratch[slot].get<char>(static_cast<int64_t>(output.bytes()));
  return place;
}

void transpose_float8(const Context& context, const ConstTensor& x, uint8_t* codes) {
  transpose(context, x, codes, nullptr, nullptr);
}

void transpose_and_sum_float8(const Context& context, const ConstTensor& x, uint8_t* codes,
                              const SumsOutput& output, int slot) {
  float* parts = context.scratch[slot].get<float>(row_tiles_of(x) * x.cols);
  transpose(context, x, codes, x.scale + 1, parts);
  sum_parts(context, parts, row_tiles_of(x), x.cols, {output});
}

template <typename T>
void Operations<T>::round_to_float8(const Context& context, const RoundToFloat8& op) {
  write_float8_copy<T>(context, op.x, op.copy);
}

void FlatOperations::float8_update(const Context& context, const Float8Update& op) {
  launch(context.stream, ceil_div(op.count, kThreads), kThreads, update_kernel, op);
}

template void write_float8_copy<float>(const Context&, const ConstTensor&, const Float8Copy&);
template void write_float8_copy<BFloat16>(const Context&, const ConstTensor&, const Float8Copy&);
STRATA_INSTANTIATE(round_to_float8, RoundToFloat8);
template void write_float8_copy<Float16>(const Context&, const ConstTensor&, const Float8Copy&);

}  // namespace strata::device::cuda
