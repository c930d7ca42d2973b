// Softmax cross-entropy of rows of logits, row by row: the loss, whether the label wins, and the
// gradient. With a gradient the logits are overwritten, and d_logits may be the same memory.
#pragma once

#include "device/cpu/kernels/math.h"

namespace strata::device::cpu {
namespace {

template <typename T>
void cross_entropy(int64_t rows, int64_t classes, float* logits, const int32_t* labels,
                   float gradient_scale, T* d_logits, LossTotals* totals) {
  for (int64_t row = 0; row < rows; ++row) {
    float* x = logits + row * classes;
    const int32_t label = labels[row];
    if (label < 0) {
      if (!d_logits) continue;
      for (int64_t i = 0; i < classes; ++i) store(d_logits[row * classes + i], 0.0f);
      continue;
    }
    const float highest = highest_of(x, classes);
    const float of_label = x[label];
    // The label wins if no earlier class reaches its score and no later class exceeds it.
    int64_t earlier_as_high = 0;
    for (int64_t i = 0; i < label; ++i) earlier_as_high += x[i] >= of_label ? 1 : 0;
    totals->correct += of_label >= highest && earlier_as_high == 0 ? 1 : 0;
    float sum = 0.0f;
    if (d_logits) {
      for (int64_t i = 0; i < classes; ++i) {
        x[i] = fast_exp(x[i] - highest);
        sum += x[i];
      }
    } else {
      for (int64_t i = 0; i < classes; ++i) sum += fast_exp(x[i] - highest);
    }
    totals->loss +=
        static_cast<double>(highest - of_label) + __builtin_log(static_cast<double>(sum));
    totals->count += 1;
    if (!d_logits) continue;
    T* dx = d_logits + row * classes;
    const float scale = gradient_scale / sum;
    const float d_label = x[label] * scale - gradient_scale;
#pragma GCC ivdep
    for (int64_t i = 0; i < classes; ++i) store(dx[i], x[i] * scale);
    store(dx[label], d_label);
  }
}

}  // namespace
}  // namespace strata::device::cpu
