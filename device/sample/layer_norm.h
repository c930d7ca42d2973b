// LayerNorm of one row (Ba, Kiros & Hinton 2016), as two operations need it. Sums are in double.
#pragma once

#include <cmath>
#include <cstdint>

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

}  // namespace strata::device::sample
