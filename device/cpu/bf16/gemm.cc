#include "device/cpu/bf16/gemm.h"

#include <algorithm>

#include "device/cpu/bf16/gemm_kernels.h"
#include "device/cpu/kernels/parallel.h"

namespace strata::device::cpu {
namespace {

// Maximum number of terms summed in registers, so that a packed panel of b has at most 512 KB and
// stays in the second-level cache.
constexpr int64_t kMostSummed = 4096;
// Rows of c in one multiply_panel(): whole tiles.
constexpr int64_t kPartRows = 96;
// Rows of c for which a transposed a is packed at once: 4 MB for 2048 terms, read again for every
// panel.
constexpr int64_t kMostPackedRows = 11 * kPartRows;
static_assert(kPartRows % kPackedRows == 0);

int64_t parts_of(int64_t count, int64_t size) { return (count + size - 1) / size; }

// A range of k, [first, first + count), summed in registers.
struct Slice {
  int64_t first, count;

  int64_t pairs() const { return (count + 1) / 2; }
};

const uint16_t* bf16_at(const void* matrix, int64_t offset) {
  return static_cast<const uint16_t*>(matrix) + offset;
}

// Rows [first, last) of c.
struct Rows {
  int64_t first, last;
};

// Returns the packed transpose of the columns `rows` of a, and also adds up their sums. Returns
// null if a is read in place.
const uint32_t* pack_left(const MatmulCall& call, const Slice& slice, const Rows& rows, int threads,
                          float* column_sums) {
  if (!call.transpose_a) return nullptr;
  static PerThread<Scratch> scratch;
  const int64_t groups = parts_of(rows.last - rows.first, kPackedRows);
  const int64_t group = slice.pairs() * kPackedRows;
  auto* packed = scratch.get().get<uint32_t>(groups * group);
  parallel_ranges(threads, groups, [&](int64_t begin, int64_t end, int) {
    const int64_t first = rows.first + begin * kPackedRows;
    const int64_t last = std::min(rows.first + end * kPackedRows, rows.last);
    float* sums = column_sums == nullptr ? nullptr : column_sums + first;
    if (sums != nullptr && slice.first == 0 && !call.accumulate) {
      std::fill_n(sums, last - first, 0.0f);
    }
    pack_left_operand(slice.count, last - first, bf16_at(call.a, slice.first * call.lda + first),
                      call.lda, packed + begin * group, sums);
  });
  return packed;
}

// Returns the initial values of the sums in the part of c from (row, column).
PanelValues initial_of(const MatmulCall& call, const Slice& slice, int64_t row, int64_t column) {
  if (slice.first == 0 && call.bias != nullptr) return {.bf16 = bf16_at(call.bias, column)};
  if (slice.first == 0 && !call.accumulate) return {};
  const int64_t offset = row * call.ldc + column;
  if (call.output_dtype == DType::kF32) {
    return {.f32 = static_cast<const float*>(call.c) + offset, .row = call.ldc};
  }
  return {.bf16 = bf16_at(call.c, offset), .row = call.ldc};
}

// Prefetches a part of a matrix whose rows are `stride` apart.
void prefetch(const uint16_t* part, int64_t rows, int64_t columns, int64_t stride) {
  constexpr int64_t kLine = 32;  // numbers per cache line
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t c = 0; c < columns; c += kLine) __builtin_prefetch(part + row * stride + c, 0, 2);
  }
}

// Computes `rows` of the panel of columns from `column`. `left` is packed and starts at these rows.
void multiply_rows_of_panel(const MatmulCall& call, const Slice& slice, const uint32_t* left,
                            int64_t column, const Rows& rows, const AfterPart& after) {
  static PerThread<Scratch> scratch;
  auto* right = scratch.get().get<uint32_t>(slice.pairs() * kPanelColumns);
  const int64_t columns = std::min(kPanelColumns, call.n - column);
  const int64_t offset =
      call.transpose_b ? column * call.ldb + slice.first : slice.first * call.ldb + column;
  pack_right_operand(call.transpose_b, slice.count, columns, bf16_at(call.b, offset), call.ldb,
                     right);
  Panel panel{.columns = columns, .pairs = slice.pairs(), .right = right, .out_row = call.ldc};
  for (int64_t row = rows.first; row < rows.last; row += kPartRows) {
    panel.rows = std::min(kPartRows, rows.last - row);
    panel.initial = initial_of(call, slice, row, column);
    if (left == nullptr) {
      panel.left = reinterpret_cast<const uint32_t*>(bf16_at(call.a, row * call.lda + slice.first));
      panel.left_row = call.lda / 2;
    } else {
      panel.left = left + (row - rows.first) * slice.pairs();
    }
    if (call.output_dtype == DType::kF32) {
      panel.f32 = static_cast<float*>(call.c) + row * call.ldc + column;
    } else {
      panel.bf16 = static_cast<uint16_t*>(call.c) + row * call.ldc + column;
    }
    const bool complete = slice.first + slice.count == call.k;
    if (complete && after.reads != nullptr) {
      prefetch(after.reads + row * call.ldc + column, panel.rows, columns, call.ldc);
    }
    multiply_panel(panel);
    if (complete && after.call) after.call(row, panel.rows, column, columns);
  }
}

// For bf16 output of more than kMostSummed terms: computes in f32, then rounds.
void widened(const MatmulCall& call, int threads, const AfterPart& after) {
  static PerThread<Scratch> scratch;
  float* sums = scratch.get().get<float>(call.m * call.n);
  const VectorKernels& kernels = kernels_for_this_cpu();
  auto* c = static_cast<uint16_t*>(call.c);
  if (call.accumulate) {
    for (int64_t row = 0; row < call.m; ++row) {
      kernels.bf16_to_f32(call.n, 1.0f, c + row * call.ldc, sums + row * call.n);
    }
  }
  MatmulCall wide = call;
  wide.c = sums;
  wide.ldc = call.n;
  wide.output_dtype = DType::kF32;
  const auto round = [&](int64_t row, int64_t rows, int64_t column, int64_t columns) {
    for (int64_t i = row; i < row + rows; ++i) {
      kernels.f32_to_bf16(columns, 1.0f, sums + i * call.n + column, c + i * call.ldc + column);
    }
    if (after.call) after.call(row, rows, column, columns);
  };
  bf16_gemm(wide, threads, {.call = round});
}

}  // namespace

bool bf16_gemm_takes(const MatmulCall& call) {
  const bool pairs_in_place = call.transpose_a || (call.k % 2 == 0 && call.lda % 2 == 0 &&
                                                   reinterpret_cast<uintptr_t>(call.a) % 4 == 0);
  return multiplies_bf16_pairs() && call.input_dtype == DType::kBF16 && call.k > 0 &&
         pairs_in_place && !(call.bias != nullptr && call.accumulate);
}

void bf16_gemm(const MatmulCall& call, int threads, const AfterPart& after, float* column_sums) {
  if (call.m == 0 || call.n == 0) return;
  if (call.k > kMostSummed && call.output_dtype != DType::kF32) {
    return widened(call, threads, after);
  }
  const int64_t panels = parts_of(call.n, kPanelColumns);
  const int64_t blocks = call.transpose_a ? parts_of(call.m, kMostPackedRows) : 1;
  const int64_t block = round_up(parts_of(call.m, blocks), kPartRows);
  // Makes enough pieces for the threads; each piece packs its own panel.
  const int64_t wanted = threads > 1 ? parts_of(4 * int64_t{threads}, panels) : 1;
  const int64_t piece = round_up(parts_of(block, wanted), kPartRows);
  for (int64_t first = 0; first < call.k; first += kMostSummed) {
    const Slice slice{first, std::min(kMostSummed, call.k - first)};
    for (int64_t row = 0; row < call.m; row += block) {
      const Rows rows{row, std::min(row + block, call.m)};
      const uint32_t* left = pack_left(call, slice, rows, threads, column_sums);
      const int64_t pieces = parts_of(rows.last - rows.first, piece);
      parallel_tasks(threads, panels * pieces, [&](int64_t task) {
        const int64_t before = task % pieces * piece, begin = rows.first + before;
        multiply_rows_of_panel(call, slice, left ? left + before * slice.pairs() : nullptr,
                               task / pieces * kPanelColumns,
                               {begin, std::min(begin + piece, rows.last)}, after);
      });
    }
  }
}

}  // namespace strata::device::cpu
