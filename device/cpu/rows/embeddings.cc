// Embeddings, and gathering and scattering of rows.
#include <algorithm>

#include "device/cpu/float8.h"
#include "device/cpu/operations.h"
#include "device/cpu/rows/layernorm_gradients.h"

namespace strata::device::cpu {
namespace {

// table[ids[row]][begin..end) += rows[row][begin..end) for every row, in order.
void scatter_columns(int64_t rows, int64_t columns, int64_t begin, int64_t end, const int32_t* ids,
                     const float* source, float* table) {
  for (int64_t row = 0; row < rows; ++row) {
    const float* from = source + row * columns;
    float* to = table + ids[row] * columns;
    for (int64_t i = begin; i < end; ++i) to[i] += from[i];
  }
}

}  // namespace

template <typename T>
void Operations<T>::embeddings_forward(const Context& context, const EmbeddingsForward& op) {
  parallel_ranges(context.threads, op.y.rows, [&](int64_t begin, int64_t end, int) {
    context.typed<T>().embeddings_forward(op, begin, end, row_scratch(op.y.cols));
  });
  write_copy<T>(context, op.y, op.y_float8);
}

template <typename T>
void Operations<T>::embeddings_backward(const Context& context, const EmbeddingsBackward& op) {
  const int64_t rows = op.dy.rows, hidden = op.dy.cols;
  float* d_sum = context.scratch[2].get<float>(rows * hidden);
  layernorm_gradients(context, rows, op,
                      [&](int64_t begin, int64_t end, float* d_gamma, float* d_beta) {
                        context.typed<T>().embeddings_backward(op, begin, end, d_sum, d_gamma,
                                                               d_beta, row_scratch(hidden));
                      });
  // Rows share table entries, so threads divide the columns: no two threads write the same element.
  parallel_ranges(context.threads, hidden, [&](int64_t begin, int64_t end, int) {
    scatter_columns(rows, hidden, begin, end, op.token_ids, d_sum, op.d_word.as<float>());
    scatter_columns(rows, hidden, begin, end, op.positions, d_sum, op.d_position.as<float>());
    scatter_columns(rows, hidden, begin, end, op.segment_ids, d_sum, op.d_segment.as<float>());
  });
}

template <typename T>
void Operations<T>::gather_rows(const Context& context, const GatherRows& op) {
  if (op.x.dtype != dtype_of<T>()) return Operations<float>::gather_rows(context, op);
  const int64_t columns = op.x.cols;
  parallel_ranges(context.threads, op.y.rows, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      T* to = op.y.as<T>() + i * columns;
      if (op.rows[i] < 0) {
        std::fill_n(to, columns, T{});
      } else {
        std::copy_n(op.x.as<T>() + op.rows[i] * columns, columns, to);
      }
    }
  });
}

template <typename T>
void Operations<T>::scatter_add_rows(const Context& context, const ScatterAddRows& op) {
  if (op.dx.dtype != dtype_of<T>()) return Operations<float>::scatter_add_rows(context, op);
  const int64_t columns = op.dy.cols;
  parallel_ranges(context.threads, op.dy.rows, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      if (op.rows[i] < 0) continue;
      context.typed<T>().add(columns, op.dy.as<T>() + i * columns,
                             op.dx.as<T>() + op.rows[i] * columns);
    }
  });
}

STRATA_INSTANTIATE(embeddings_forward, EmbeddingsForward);
STRATA_INSTANTIATE(embeddings_backward, EmbeddingsBackward);
STRATA_INSTANTIATE(gather_rows, GatherRows);
STRATA_INSTANTIATE(scatter_add_rows, ScatterAddRows);

}  // namespace strata::device::cpu
