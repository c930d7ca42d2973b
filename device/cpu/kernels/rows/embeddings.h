// Token, position and segment embeddings with the LayerNorm and dropout that follow them.
#pragma once

#include "device/cpu/kernels/rows/layernorm.h"

namespace strata::device::cpu {
namespace {

template <typename T>
void embeddings_forward(const EmbeddingsForward& op, int64_t begin, int64_t end, float* scratch) {
  const int64_t columns = op.word.cols;
  float* z = scratch;
  float* factors = scratch + scratch_floats(columns) / 3;
  float* xhat = scratch + 2 * (scratch_floats(columns) / 3);
  const T* gamma = op.gamma.as<T>();
  const T* beta = op.beta.as<T>();
  const bool drop = op.dropout.probability > 0.0f;
  RowCursor cursor(op.sequences, begin);
  for (int64_t row = begin; row < end; ++row) {
    const T* word = op.word.as<T>() + op.token_ids[row] * columns;
    const T* position = op.position.as<T>() + op.positions[row] * columns;
    const T* segment = op.segment.as<T>() + op.segment_ids[row] * columns;
    for (int64_t i = 0; i < columns; ++i)
      z[i] = load(word[i]) + load(position[i]) + load(segment[i]);
    const float* n = normalized_row<T>(op, z, row, columns, xhat);
    for (int64_t i = 0; i < columns; ++i) z[i] = n[i] * load(gamma[i]) + load(beta[i]);
    if (drop) {
      dropout_row(op.dropout, cursor.sample_id(), cursor.position(), columns, factors);
      cursor.advance();
      for (int64_t i = 0; i < columns; ++i) z[i] *= factors[i];
    }
    T* y = op.y.as<T>() + row * columns;
    for (int64_t i = 0; i < columns; ++i) store(y[i], z[i]);
  }
}

template <typename T>
void embeddings_backward(const EmbeddingsBackward& op, int64_t begin, int64_t end, float* d_sum,
                         float* d_gamma, float* d_beta, float* scratch) {
  const int64_t columns = op.dy.cols;
  float* factors = scratch;
  const bool drop = op.dropout.probability > 0.0f;
  RowCursor cursor(op.sequences, begin);
  for (int64_t row = begin; row < end; ++row) {
    const T* dy = op.dy.as<T>() + row * columns;
    float* dz = d_sum + row * columns;
    for (int64_t i = 0; i < columns; ++i) dz[i] = load(dy[i]);
    if (drop) {
      dropout_row(op.dropout, cursor.sample_id(), cursor.position(), columns, factors);
      cursor.advance();
      for (int64_t i = 0; i < columns; ++i) dz[i] *= factors[i];
    }
    row_gradient<T>(op, row, columns, dz, d_gamma, d_beta);
  }
}

}  // namespace
}  // namespace strata::device::cpu
