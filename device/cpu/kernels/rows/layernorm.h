// LayerNorm over rows, with the residual and dropout around it.
#pragma once

#include <algorithm>

#include "device/cpu/kernels/rows/dropout_row.h"
#include "device/cpu/kernels/rows/standardization.h"

namespace strata::device::cpu {
namespace {

struct Moments {
  float mean;
  float inverse_stddev;
};

inline Moments moments(const float* z, int64_t columns, float epsilon) {
  const MeanAndVariance of_row = mean_and_variance(z, columns);
  return {of_row.mean, 1.0f / __builtin_sqrtf(of_row.variance + epsilon)};
}

// Writes the values that LayerNorm keeps for backward; `normalized` may be null.
template <typename T>
void normalize_row(const float* z, const Moments& m, int64_t columns, T* normalized,
                   float* inverse_stddev, float* __restrict xhat) {
  for (int64_t i = 0; i < columns; ++i) xhat[i] = (z[i] - m.mean) * m.inverse_stddev;
  if (normalized) {
    for (int64_t i = 0; i < columns; ++i) store(normalized[i], xhat[i]);
  }
  if (inverse_stddev) *inverse_stddev = m.inverse_stddev;
}

// Returns the factor of gamma, z normalized in `xhat` or z itself, and keeps it for backward.
template <typename T, typename Op>
const float* normalized_row(const Op& op, const float* z, int64_t row, int64_t columns,
                            float* __restrict xhat) {
  T* kept = op.normalized ? op.normalized.template as<T>() + row * columns : nullptr;
  if (op.normalize) {
    normalize_row(z, moments(z, columns, op.epsilon), columns, kept,
                  op.inverse_stddev ? op.inverse_stddev.template as<float>() + row : nullptr, xhat);
    return xhat;
  }
  if (kept) {
    for (int64_t i = 0; i < columns; ++i) store(kept[i], z[i]);
  }
  return z;
}

// Factors of `scale` and dropout for consecutive rows of a batch.
class RowFactors {
 public:
  RowFactors(const Dropout& dropout, const Sequences& sequences, float scale, int64_t columns,
             int64_t begin, float* factors)
      : dropout_(dropout),
        scale_(scale),
        columns_(columns),
        cursor_(sequences, begin),
        factors_(factors) {
    if (!drops()) std::fill_n(factors_, columns_, scale_);
  }

  // Returns the factors of the next row, starting with `begin`.
  const float* next() {
    if (!drops()) return factors_;
    dropout_row(dropout_, cursor_.sample_id(), cursor_.position(), columns_, factors_);
    cursor_.advance();
    if (scale_ != 1.0f) {
      for (int64_t i = 0; i < columns_; ++i) factors_[i] *= scale_;
    }
    return factors_;
  }

 private:
  bool drops() const { return dropout_.probability > 0.0f; }

  const Dropout& dropout_;
  float scale_;
  int64_t columns_;
  RowCursor cursor_;
  float* factors_;
};

template <typename T>
void layernorm_forward(const ResidualLayerNormForward& op, int64_t begin, int64_t end,
                       float* scratch) {
  const int64_t columns = op.x.cols;
  float* z = scratch;
  float* xhat = scratch + 2 * (scratch_floats(columns) / 3);
  const T* gamma = op.gamma.as<T>();
  const T* beta = op.beta.as<T>();
  RowFactors factors(op.dropout, op.sequences, op.scale, columns, begin,
                     scratch + scratch_floats(columns) / 3);
  for (int64_t row = begin; row < end; ++row) {
    const T* x = op.x.as<T>() + row * columns;
    const float* factor = factors.next();
    for (int64_t i = 0; i < columns; ++i) z[i] = load(x[i]) * factor[i];
    if (op.residual) {
      const T* residual = op.residual.as<T>() + row * columns;
      for (int64_t i = 0; i < columns; ++i) z[i] += load(residual[i]);
    }
    if (op.sum) {
      T* sum = op.sum.as<T>() + row * columns;
      for (int64_t i = 0; i < columns; ++i) store(sum[i], z[i]);
    }
    const float* n = normalized_row<T>(op, z, row, columns, xhat);
    T* y = op.y.as<T>() + row * columns;
    for (int64_t i = 0; i < columns; ++i) store(y[i], n[i] * load(gamma[i]) + load(beta[i]));
  }
}

// Replaces dy of one row with dz; adds to d_gamma and d_beta.
template <typename T>
void layernorm_row_gradient(const T* normalized, const T* gamma, float inverse_stddev,
                            int64_t columns, float* __restrict dy, float* __restrict d_gamma,
                            float* __restrict d_beta) {
  float sum = 0.0f, dot = 0.0f;
  for (int64_t i = 0; i < columns; ++i) {
    const float xhat = load(normalized[i]);
    d_gamma[i] += dy[i] * xhat;
    d_beta[i] += dy[i];
    const float g = dy[i] * load(gamma[i]);
    dy[i] = g;
    sum += g;
    dot += g * xhat;
  }
  const float mean = sum / static_cast<float>(columns),
              mean_dot = dot / static_cast<float>(columns);
  for (int64_t i = 0; i < columns; ++i) {
    dy[i] = (dy[i] - mean - load(normalized[i]) * mean_dot) * inverse_stddev;
  }
}

// The same without normalization; adds the standardization loss's gradient.
template <typename T>
void standardized_row_gradient(const StandardizationGradient& standardization, int64_t row,
                               const T* z, const T* gamma, int64_t columns, float* __restrict dy,
                               float* __restrict d_gamma, float* __restrict d_beta) {
  for (int64_t i = 0; i < columns; ++i) {
    d_gamma[i] += dy[i] * load(z[i]);
    d_beta[i] += dy[i];
    dy[i] *= load(gamma[i]);
  }
  add_standardization_gradient(standardization, row, z, columns, dy);
}

// Calls one of the two above, depending on the operation.
template <typename T, typename Op>
void row_gradient(const Op& op, int64_t row, int64_t columns, float* dy, float* d_gamma,
                  float* d_beta) {
  const T* normalized = op.normalized.template as<T>() + row * columns;
  const T* gamma = op.gamma.template as<T>();
  if (op.normalize) {
    layernorm_row_gradient(normalized, gamma, op.inverse_stddev.template as<float>()[row], columns,
                           dy, d_gamma, d_beta);
  } else {
    standardized_row_gradient(op.standardization, row, normalized, gamma, columns, dy, d_gamma,
                              d_beta);
  }
}

template <typename T>
void layernorm_backward(const ResidualLayerNormBackward& op, int64_t begin, int64_t end,
                        float* d_gamma, float* d_beta, float* scratch) {
  const int64_t columns = op.dy.cols;
  float* dz = scratch;
  RowFactors factors(op.dropout, op.sequences, op.scale, columns, begin,
                     scratch + scratch_floats(columns) / 3);
  for (int64_t row = begin; row < end; ++row) {
    const T* dy = op.dy.as<T>() + row * columns;
    for (int64_t i = 0; i < columns; ++i) dz[i] = load(dy[i]);
    row_gradient<T>(op, row, columns, dz, d_gamma, d_beta);
    if (op.d_sum) {
      const T* d_sum = op.d_sum.as<T>() + row * columns;
      for (int64_t i = 0; i < columns; ++i) dz[i] += load(d_sum[i]);
    }
    if (op.d_residual) {
      T* d_residual = op.d_residual.as<T>() + row * columns;
      for (int64_t i = 0; i < columns; ++i) store(d_residual[i], dz[i]);
    }
    T* d_x = op.d_x.as<T>() + row * columns;
    const float* factor = factors.next();
    for (int64_t i = 0; i < columns; ++i) store(d_x[i], dz[i] * factor[i]);
  }
}

template <typename T>
void residual_add_forward(const ResidualAddForward& op, int64_t begin, int64_t end,
                          float* scratch) {
  const int64_t columns = op.x.cols;
  RowFactors factors(op.dropout, op.sequences, op.scale, columns, begin, scratch);
  for (int64_t row = begin; row < end; ++row) {
    const T* x = op.x.as<T>() + row * columns;
    const T* residual = op.residual.as<T>() + row * columns;
    T* y = op.y.as<T>() + row * columns;
    const float* factor = factors.next();
    for (int64_t i = 0; i < columns; ++i) {
      store(y[i], load(residual[i]) + load(x[i]) * factor[i]);
    }
  }
}

template <typename T>
void residual_add_backward(const ResidualAddBackward& op, int64_t begin, int64_t end,
                           float* scratch) {
  const int64_t columns = op.dy.cols;
  RowFactors factors(op.dropout, op.sequences, op.scale, columns, begin, scratch);
  for (int64_t row = begin; row < end; ++row) {
    const T* dy = op.dy.as<T>() + row * columns;
    T* d_x = op.d_x.as<T>() + row * columns;
    const float* factor = factors.next();
    for (int64_t i = 0; i < columns; ++i) store(d_x[i], load(dy[i]) * factor[i]);
  }
}

}  // namespace
}  // namespace strata::device::cpu
