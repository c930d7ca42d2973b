// The standardization loss (optional), one unit or token at a time.
#include <algorithm>

#include "device/sample/sample_backend.h"

namespace strata::device::sample {

void SampleBackend::standardization_loss(Stream, const StandardizationLoss& op) {
  const int64_t rows = op.rows.now(), hidden = op.x.cols;
  const bool of_units = op.axis == StandardizationAxis::kUnit;
  float *mean = op.mean.as<float>(), *slope = op.slope.as<float>();
  std::fill_n(mean, op.mean.size(), 0.0f);
  std::fill_n(slope, op.slope.size(), 0.0f);
  if (rows == 0) return;

  // A unit's elements are a row apart; a token's are contiguous.
  const int64_t groups = of_units ? hidden : rows, elements = of_units ? rows : hidden;
  const int64_t apart = of_units ? hidden : 1;
  double loss = 0;
  for (int64_t group = 0; group < groups; ++group) {
    const float* x = op.x.as<float>() + (of_units ? group : group * hidden);
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < elements; ++i) sum += x[i * apart];
    const double average = sum / static_cast<double>(elements);
    for (int64_t i = 0; i < elements; ++i) {
      squares += (x[i * apart] - average) * (x[i * apart] - average);
    }
    const double variance = squares / static_cast<double>(elements);
    loss += device::standardization_loss(average, variance);
    mean[group] = static_cast<float>(average);
    slope[group] = static_cast<float>(standardization_slope(op.gradient_scale.now(), variance));
  }
  op.totals->loss += loss * static_cast<double>(rows) / static_cast<double>(groups);
  op.totals->count += rows;
}

}  // namespace strata::device::sample
