// LayerNorm of one row (Ba, Kiros & Hinton 2016), as two operations need it, or what stands in its
// place where there is none. Sums are in double.
#pragma once

#include <cmath>
#include <cstdint>

#include "device/operations.h"

namespace strata::device::sample {

// Gives `row` [n] zero mean and unit variance in place. Returns 1 / sqrt(variance + epsilon).
inline float normalize(float* row, int64_t n, float epsilon) {
  double mean = 0, variance = 0;
  for (int64_t i = 0; i < n; ++i) mean += row[i] / static_cast<double>(n);
  for (int64_t i = 0; i < n; ++i) {
    variance += (row[i] - mean) * (row[i] - mean) / static_cast<double>(n);
  }
  const double inverse_stddev = 1 / std::sqrt(variance + epsilon);
  for (int64_t i = 0; i < n; ++i) row[i] = static_cast<float>((row[i] - mean) * inverse_stddev);
  return static_cast<float>(inverse_stddev);
}

// Turns the gradient of the normalized row into that of the row, in place.
inline void normalize_backward(float* gradient, const float* normalized, float inverse_stddev,
                               int64_t n) {
  double mean = 0, projection = 0;
  for (int64_t i = 0; i < n; ++i) {
    mean += gradient[i] / static_cast<double>(n);
    projection += double{gradient[i]} * normalized[i] / static_cast<double>(n);
  }
  for (int64_t i = 0; i < n; ++i) {
    gradient[i] =
        static_cast<float>(inverse_stddev * (gradient[i] - mean - normalized[i] * projection));
  }
}

// Without LayerNorm: adds the standardization loss's gradient of a row, whose values are x.
inline void add_standardization_gradient(const StandardizationGradient& standardization,
                                         int64_t row, const float* x, float* gradient, int64_t n) {
  if (!standardization.mean || row >= standardization.rows.now()) return;
  const float scale = standardization.scale.now();
  for (int64_t i = 0; i < n; ++i) {
    const int64_t group = standardization.axis == StandardizationAxis::kUnit ? i : row;
    const float mean = standardization.mean.as<float>()[group];
    gradient[i] += scale * mean + standardization.slope.as<float>()[group] * (x[i] - mean);
  }
}

}  // namespace strata::device::sample
