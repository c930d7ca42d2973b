// Softmax cross-entropy of rows of logits, and its gradient.
#pragma once

#include "device/backend.h"
#include "device/cuda/runtime/runtime.h"

namespace strata::device::cuda {

// Logits [rows, classes], f32 without bias, with rows `stride` apart.
template <typename T>
struct CrossEntropy {
  int64_t rows, classes, stride;
  const float* logits;
  const T* bias;          // [classes]
  const int32_t* labels;  // [rows], -1: no loss
  StepValue<float> gradient_scale;
  T* d_logits;         // [rows, classes], `stride` apart; null: no gradient
  LossTotals* totals;  // device memory, added to
};

// Uses scratch slot `slot`.
template <typename T>
void cross_entropy(const Context& context, const CrossEntropy<T>& op, int slot);

}  // namespace strata::device::cuda
