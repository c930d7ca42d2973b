// Gradients by central differences, and small random inputs for them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "device/backend.h"

namespace strata::device::reference {

using Values = std::vector<double>;

// Returns uniform values in (-1, 1).
inline Values random_values(size_t size, uint64_t seed) {
  Values values(size);
  for (size_t i = 0; i < size; ++i) {
    values[i] = 2 * unit_interval(splitmix64(seed * 1000003 + i)) - 1;
  }
  return values;
}

inline Tensor matrix(Values& values, int64_t rows) {
  return {values.data(), DType::kF64, rows, static_cast<int64_t>(values.size()) / rows};
}
inline Tensor vector(Values& values) { return matrix(values, 1); }

inline double dot(const Values& a, const Values& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Returns the derivative of `loss`, which reads `variable`, with respect to each of its elements.
inline Values numeric_gradient(Values& variable, const std::function<double()>& loss) {
  constexpr double kStep = 1e-5;
  Values gradient;
  for (double& element : variable) {
    const double saved = element;
    element = saved + kStep;
    const double above = loss();
    element = saved - kStep;
    const double below = loss();
    element = saved;
    gradient.push_back((above - below) / (2 * kStep));
  }
  return gradient;
}

// Expects equality within the resolution of central differences in f64.
inline void expect_gradient(const char* name, const Values& gradient, const Values& numeric) {
  ASSERT_EQ(gradient.size(), numeric.size()) << name;
  double largest = 0;
  for (const double value : numeric) largest = std::max(largest, std::abs(value));
  EXPECT_GT(largest, 1e-3) << name << ": a gradient this small checks nothing";
  for (size_t i = 0; i < gradient.size(); ++i) {
    EXPECT_NEAR(gradient[i], numeric[i], 1e-8 * std::max(1.0, largest)) << name << "[" << i << "]";
  }
}

// Sequences of the given lengths with sample ids 100, 101, ...
class PackedSequences {
 public:
  explicit PackedSequences(const std::vector<int32_t>& lengths) {
    for (const int32_t length : lengths) {
      sample_ids_.push_back(100 + sample_ids_.size());
      cu_seqlens_.push_back(cu_seqlens_.back() + length);
      max_length_ = std::max(max_length_, length);
    }
  }
  Sequences view() const {
    return {.count = static_cast<int32_t>(sample_ids_.size()),
            .tokens = cu_seqlens_.back(),
            .max_length = max_length_,
            .cu_seqlens = cu_seqlens_.data(),
            .sample_ids = sample_ids_.data()};
  }

 private:
  std::vector<int32_t> cu_seqlens_ = {0};
  std::vector<uint64_t> sample_ids_;
  int32_t max_length_ = 0;
};

inline const Dropout kSomeDropout{0.3f, dropout_step_key(1, 2),
                                  dropout_place(3, DropoutSite::kAttention)};

}  // namespace strata::device::reference
