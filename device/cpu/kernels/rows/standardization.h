// Means and variances for the standardization loss, and its gradient.
#pragma once

#include <algorithm>

#include "device/cpu/kernels/math.h"

namespace strata::device::cpu {
namespace {

struct MeanAndVariance {
  float mean;
  float variance;
};

inline MeanAndVariance mean_and_variance(const float* z, int64_t columns) {
  float sum = 0.0f;
  for (int64_t i = 0; i < columns; ++i) sum += z[i];
  const float mean = sum / static_cast<float>(columns);
  float squares = 0.0f;
  for (int64_t i = 0; i < columns; ++i) squares += (z[i] - mean) * (z[i] - mean);
  return {mean, squares / static_cast<float>(columns)};
}

template <typename T>
void column_moments(int64_t rows, int64_t columns, const T* x, float* __restrict means,
                    float* __restrict squares) {
  std::fill_n(means, columns, 0.0f);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < columns; ++i) means[i] += load(x[row * columns + i]);
  }
  for (int64_t i = 0; i < columns; ++i) means[i] /= static_cast<float>(rows);
  std::fill_n(squares, columns, 0.0f);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < columns; ++i) {
      const float distance = load(x[row * columns + i]) - means[i];
      squares[i] += distance * distance;
    }
  }
}

template <typename T>
void row_moments(int64_t rows, int64_t columns, const T* x, float* means, float* variances,
                 float* scratch) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < columns; ++i) scratch[i] = load(x[row * columns + i]);
    const MeanAndVariance moments = mean_and_variance(scratch, columns);
    means[row] = moments.mean;
    variances[row] = moments.variance;
  }
}

// Adds the loss's gradient with respect to a row of x.
template <typename T>
void add_standardization_gradient(const StandardizationGradient& op, int64_t row, const T* x,
                                  int64_t columns, float* __restrict gradient) {
  if (!op.mean || row >= op.rows.now()) return;
  const float scale = op.scale.now();
  const float *mean = op.mean.as<float>(), *slope = op.slope.as<float>();
  if (op.axis == StandardizationAxis::kUnit) {
    for (int64_t i = 0; i < columns; ++i) {
      gradient[i] += scale * mean[i] + slope[i] * (load(x[i]) - mean[i]);
    }
  } else {
    const float shift = scale * mean[row];
    for (int64_t i = 0; i < columns; ++i) {
      gradient[i] += shift + slope[row] * (load(x[i]) - mean[row]);
    }
  }
}

}  // namespace
}  // namespace strata::device::cpu
