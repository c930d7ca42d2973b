// Embeddings: the sum of three table rows with LayerNorm and dropout, and its gradients.
#include "device/cuda/layernorm.h"
#include "device/cuda/rows/sort_rows.h"
#include "device/cuda/runtime/operations.h"

namespace strata::device::cuda {
namespace {

template <typename T, typename Shape>
__global__ void __launch_bounds__(kRowThreads) forward_kernel(EmbeddingsForward op) {
  const int columns = static_cast<int>(op.word.cols);
  const int row = static_cast<int>(blockIdx.x) * kRowsPerBlock + warp();
  if (row >= op.y.rows) return;
  const int64_t offset = int64_t{row} * columns;
  RowPart<Shape> z;
  load_row<Shape>(op.word.as<T>() + int64_t{op.token_ids[row]} * columns, columns, z);
  add_row<Shape>(op.position.as<T>() + int64_t{op.positions[row]} * columns, columns, z);
  add_row<Shape>(op.segment.as<T>() + int64_t{op.segment_ids[row]} * columns, columns, z);
  normalize_row<T, Shape>(op, row, columns, z);
  scale_and_shift_row<Shape>(op.gamma.as<T>(), op.beta.as<T>(), columns, z);
  drop_row<Shape>(op.dropout, op.sequences, row, columns, z);
  store_row<Shape>(op.y.as<T>() + offset, columns, z);
  Float8Writer<E4M3> copy(op.y_float8);
  write_row<Shape>(copy, offset, columns, z);
  copy.finish();
}

// Writes the gradient of every row's sum of embeddings to d_sum [T, H].
template <typename T, bool kNormalizes, typename Shape>
__global__ void __launch_bounds__(kRowThreads, kBackwardBlocks)
    backward_kernel(EmbeddingsBackward op, float* d_sum, float* parts) {
  const int columns = static_cast<int>(op.dy.cols);
  LayerNormGradients<Shape> sums;
  for (int64_t row = int64_t{blockIdx.x} * kRowsPerBlock + warp(); row < op.dy.rows;
       row += int64_t{gridDim.x} * kRowsPerBlock) {
    const int64_t offset = row * columns;
    RowPart<Shape> dz;
    load_row<Shape>(op.dy.as<T>() + offset, columns, dz);
    drop_row<Shape>(op.dropout, op.sequences, static_cast<int>(row), columns, dz);
    row_backward<T, kNormalizes>(op, row, columns, dz, sums);
    store_row<Shape>(d_sum + offset, columns, dz);
  }
  sums.write(columns, parts + int64_t{blockIdx.x} * 2 * columns);
}

// ---- Scatters rows to table entries. Rows sorted by entry are cut into chunks, one per block. A
// run of rows of one entry inside a chunk is added to the table at once. For a run that spans
// chunks, every chunk writes a partial sum, and the block in which the run starts adds them up in
// order.

constexpr int kChunk = 32;
constexpr int kScatterThreads = 128;
constexpr int kRowsAtOnce = 8;

enum Part { kOfRunFromBefore = 0, kOfRunThatGoesOn = 1 };

struct TableScatter {
  SortedRows sorted;
  int64_t count;
  const float* source;  // [count, columns]
  int64_t columns;
  float* parts;  // [chunks, 2, columns]
  float* table;  // [entries, columns], added to

  __device__ int64_t chunk_end(int64_t chunk) const {
    return (chunk + 1) * kChunk < count ? (chunk + 1) * kChunk : count;
  }
  // True if the run of entry `id`, which has rows in the chunk, starts or ends in it.
  __device__ bool starts_in(int64_t chunk, int32_t id) const {
    return chunk == 0 || sorted.ids[chunk * kChunk - 1] != id;
  }
  __device__ bool ends_in(int64_t chunk, int32_t id) const {
    const int64_t end = chunk_end(chunk);
    return end == count || sorted.ids[end] != id;
  }
  __device__ float* part(int64_t chunk, Part which) const {
    return parts + (2 * chunk + which) * columns;
  }
};

// to += x.
template <int V>
__device__ inline void add_to(float* to, const float (&x)[V]) {
  float sum[V];
  load(to, sum);
#pragma unroll
  for (int i = 0; i < V; ++i) sum[i] += x[i];
  store(to, sum);
}

// x counts chunks, y blocks of columns; each thread takes V columns.
template <int V>
dim3 scatter_blocks(int64_t chunks, int64_t columns) {
  return {static_cast<unsigned>(chunks),
          static_cast<unsigned>(ceil_div(columns, kScatterThreads * V))};
}
template <int V>
__device__ inline int64_t column_of_thread() {
  return (int64_t{blockIdx.y} * kScatterThreads + threadIdx.x) * V;
}

template <int V>
__global__ void __launch_bounds__(kScatterThreads) scatter_chunks_kernel(TableScatter scatter) {
  const int64_t chunk = blockIdx.x, column = column_of_thread<V>(), end = scatter.chunk_end(chunk);
  if (column >= scatter.columns) return;
  float sum[V] = {};
  for (int64_t first = chunk * kChunk; first < end; first += kRowsAtOnce) {
    // Starts all loads before the first addition.
    int32_t ids[kRowsAtOnce + 1];
    float rows[kRowsAtOnce][V];
#pragma unroll
    for (int i = 0; i < kRowsAtOnce; ++i) {
      const int64_t row = first + i < end ? first + i : end - 1;
      ids[i] = scatter.sorted.ids[row];
      load(scatter.source + scatter.sorted.rows[row] * scatter.columns + column, rows[i]);
    }
    ids[kRowsAtOnce] = first + kRowsAtOnce < end ? scatter.sorted.ids[first + kRowsAtOnce] : -1;
#pragma unroll
    for (int i = 0; i < kRowsAtOnce; ++i) {
      if (first + i >= end) break;
      const int32_t id = ids[i];
#pragma unroll
      for (int j = 0; j < V; ++j) sum[j] += rows[i][j];
      const bool more = first + i + 1 < end;
      if (more && ids[i + 1] == id) continue;
      const bool starts = scatter.starts_in(chunk, id), ends = more || scatter.ends_in(chunk, id);
      if (starts && ends) {
        add_to(scatter.table + id * scatter.columns + column, sum);
      } else {
        store(scatter.part(chunk, starts ? kOfRunThatGoesOn : kOfRunFromBefore) + column, sum);
      }
#pragma unroll
      for (int j = 0; j < V; ++j) sum[j] = 0.0f;
    }
  }
}

__global__ void __launch_bounds__(kScatterThreads) join_chunks_kernel(TableScatter scatter) {
  const int64_t first = blockIdx.x, column = column_of_thread<1>();
  const int32_t id = scatter.sorted.ids[scatter.chunk_end(first) - 1];
  if (!scatter.starts_in(first, id) || scatter.ends_in(first, id)) return;
  if (column >= scatter.columns) return;
  // Binary search for the end of the run.
  int64_t begin = scatter.chunk_end(first), end = scatter.count;
  while (begin < end) {
    const int64_t middle = (begin + end) / 2;
    if (scatter.sorted.ids[middle] == id) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  const int64_t last = (begin - 1) / kChunk;
  float sum = scatter.part(first, kOfRunThatGoesOn)[column];
#pragma unroll 8
  for (int64_t chunk = first + 1; chunk <= last; ++chunk) {
    sum += scatter.part(chunk, kOfRunFromBefore)[column];
  }
  scatter.table[id * scatter.columns + column] += sum;
}

// table[ids[i]] += rows[i] for `count` rows; `table` [entries, columns]. Uses slots 3 to 5.
void scatter_to_table(const Context& context, const int32_t* ids, int64_t count, const float* rows,
                      const Tensor& table) {
  const int64_t chunks = ceil_div(count, kChunk);
  const TableScatter scatter{.sorted = sort_rows(context, ids, count, table.rows, 3),
                             .count = count,
                             .source = rows,
                             .columns = table.cols,
                             .parts = context.scratch[5].get<float>(chunks * 2 * table.cols),
                             .table = table.as<float>()};
  constexpr int V = kVector<float>;
  if (rows_are_aligned(table.cols, V, rows, table.data)) {
    launch(context.stream, scatter_blocks<V>(chunks, table.cols), kScatterThreads,
           scatter_chunks_kernel<V>, scatter);
  } else {
    launch(context.stream, scatter_blocks<1>(chunks, table.cols), kScatterThreads,
           scatter_chunks_kernel<1>, scatter);
  }
  launch(context.stream, scatter_blocks<1>(chunks, table.cols), kScatterThreads, join_chunks_kernel,
         scatter);
}

}  // namespace

template <typename T>
void Operations<T>::embeddings_forward(const Context& context, const EmbeddingsForward& op) {
  const bool aligned = rows_are_aligned(op.y.cols, kVector<T>, op.word.data, op.position.data,
                                        op.segment.data, op.gamma.data, op.beta.data,
                                        op.normalized.data, op.y.data, op.y_float8.data.data);
  with_row_shape<T>(op.y.cols, aligned, [&](auto shape) {
    launch(context.stream, ceil_div(op.y.rows, kRowsPerBlock), kRowThreads,
           forward_kernel<T, decltype(shape)>, op);
  });
}

template <typename T>
void Operations<T>::embeddings_backward(const Context& context, const EmbeddingsBackward& op) {
  const int64_t rows = op.dy.rows, columns = op.dy.cols, blocks = backward_blocks(context, rows);
  float* d_sum = context.scratch[1].get<float>(rows * columns);
  float* parts = context.scratch[0].get<float>(blocks * 2 * columns);
  const bool aligned =
      rows_are_aligned(columns, kVector<T>, op.dy.data, op.normalized.data, op.gamma.data,
                       op.standardization.mean.data, op.standardization.slope.data);
  with_row_shape<T>(columns, aligned, [&](auto shape) {
    using Shape = typename decltype(shape)::NotFull;
    launch(context.stream, blocks, kRowThreads,
           op.normalize ? backward_kernel<T, true, Shape> : backward_kernel<T, false, Shape>, op,
           d_sum, parts);
  });
  layernorm_gradients(context, parts, blocks, op);
  scatter_to_table(context, op.token_ids, rows, d_sum, op.d_word);
  scatter_to_table(context, op.positions, rows, d_sum, op.d_position);
  scatter_to_table(context, op.segment_ids, rows, d_sum, op.d_segment);
}

STRATA_INSTANTIATE(embeddings_forward, EmbeddingsForward);
STRATA_INSTANTIATE(embeddings_backward, EmbeddingsBackward);

}  // namespace strata::device::cuda
