// LayerNorm of one row (Ba, Kiros & Hinton 2016), and its replacement in models without it. T is
// float or double; sums are in f64.
#pragma once

#include <cmath>
#include <cstdint>

#include "device/operations/operations.h"

namespace strata::device::plain {

// Normalizes `row` [n] to zero mean and unit variance in place. Returns 1 / sqrt(variance +
// epsilon); the variance divides by n.
template <typename T>
T normalize(T* row, int64_t n, double epsilon) {
  double mean = 0, variance = 0;
  for (int64_t i = 0; i < n; ++i) mean += row[i] / static_cast<double>(n);
  for (int64_t i = 0; i < n; ++i) {
    variance += (row[i] - mean) * (row[i] - mean) / static_cast<double>(n);
  }
  const double inverse_stddev = 1 / std::sqrt(variance + epsilon);
  for (int64_t i = 0; i < n; ++i) row[i] = static_cast<T>((row[i] - mean) * inverse_stddev);
  return static_cast<T>(inverse_stddev);
}

// Converts the gradient of the normalized row to that of the row, in place.
template <typename T>
void normalize_backward(T* gradient, const T* normalized, T inverse_stddev, int64_t n) {
  double mean = 0, projection = 0;
  for (int64_t i = 0; i < n; ++i) {
    mean += gradient[i] / static_cast<double>(n);
    projection += double{gradient[i]} * normalized[i] / static_cast<double>(n);
  }
  for (int64_t i = 0; i < n; ++i) {
    gradient[i] =
        static_cast<T>(inverse_stddev * (gradient[i] - mean - normalized[i] * projection));
  }
}

// Without LayerNorm: adds the standardization loss's gradient for a row of values x.
template <typename T>
void add_standardization_gradient(const StandardizationGradient& standardization, int64_t row,
                                  const T* x, T* gradient, int64_t n) {
  if (!standardization.mean || row >= standardization.rows.now()) return;
  const T scale = standardization.scale.now();
  for (int64_t i = 0; i < n; ++i) {
    const int64_t group = standardization.axis == StandardizationAxis::kUnit ? i : row;
    const T mean = standardization.mean.as<T>()[group];
    gradient[i] += scale * mean + standardization.slope.as<T>()[group] * (x[i] - mean);
  }
}

}  // namespace strata::device::plain
