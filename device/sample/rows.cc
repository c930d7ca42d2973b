// The rows of masked positions: gathered before the head, scattered back after it.
#include <algorithm>

#include "device/sample/sample_backend.h"

namespace strata::device::sample {

void SampleBackend::gather_rows(Stream, const GatherRows& op) {
  const int64_t hidden = op.y.cols;
  for (int64_t i = 0; i < op.y.rows; ++i) {
    float* y = op.y.as<float>() + i * hidden;
    if (op.rows[i] < 0) {
      std::fill_n(y, hidden, 0.0f);
    } else {
      std::copy_n(op.x.as<float>() + op.rows[i] * hidden, hidden, y);
    }
  }
}

void SampleBackend::scatter_add_rows(Stream, const ScatterAddRows& op) {
  const int64_t hidden = op.dy.cols;
  for (int64_t i = 0; i < op.dy.rows; ++i) {
    if (op.rows[i] < 0) continue;
    float* dx = op.dx.as<float>() + op.rows[i] * hidden;
    for (int64_t h = 0; h < hidden; ++h) dx[h] += op.dy.as<float>()[i * hidden + h];
  }
}

}  // namespace strata::device::sample
