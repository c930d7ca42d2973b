// Flat loops: conversion, scaling, sums, and the fused Adam update.
#pragma once

#include "device/cpu/kernels/math.h"

namespace strata::device::cpu {
namespace {

template <typename T>
void add(int64_t count, const T* x, T* sum) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) store(sum[i], load(sum[i]) + load(x[i]));
}

template <typename Source, typename Destination>
void scaled_copy(int64_t count, float factor, const Source* source, Destination* destination) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) store(destination[i], load(source[i]) * factor);
}

template <typename T>
double sum_of_squares(int64_t count, const T* x) {
  double sum = 0.0;
  for (int64_t i = 0; i < count; ++i) {
    const double value = load(x[i]);
    sum += value * value;
  }
  return sum;
}

template <typename T>
void column_sums(int64_t rows, int64_t columns, const T* x, float* __restrict sums) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < columns; ++i) sums[i] += load(x[row * columns + i]);
  }
}

template <bool kWriteCompute>
void adam_range(const AdamUpdate& op, int64_t begin, int64_t end, float factor) {
  float* __restrict w = op.weights.as<float>();
  float* __restrict g = op.gradients.as<float>();
  float* __restrict m = op.first_moment.as<float>();
  float* __restrict v = op.second_moment.as<float>();
  uint16_t* __restrict compute = op.compute_weights.as<uint16_t>();
  const double steps = static_cast<double>(op.step);
  const float correction1 = static_cast<float>(1.0 / (1.0 - __builtin_pow(op.beta1, steps)));
  const float correction2 = static_cast<float>(1.0 / (1.0 - __builtin_pow(op.beta2, steps)));
  const float b1 = op.beta1, b2 = op.beta2, lr = op.learning_rate;
  for (int64_t i = begin; i < end; ++i) {
    const float gradient = g[i] * factor;
    const float first = b1 * m[i] + (1.0f - b1) * gradient;
    const float second = b2 * v[i] + (1.0f - b2) * gradient * gradient;
    const float direction =
        first * correction1 / (__builtin_sqrtf(second * correction2) + op.epsilon) +
        op.weight_decay * w[i];
    const float updated = w[i] - lr * direction;
    m[i] = first;
    v[i] = second;
    w[i] = updated;
    g[i] = 0.0f;
    if constexpr (kWriteCompute) store(compute[i], updated);
  }
}

inline void adam(const AdamUpdate& op, int64_t begin, int64_t end, float factor) {
  if (op.compute_weights) {
    adam_range<true>(op, begin, end, factor);
  } else {
    adam_range<false>(op, begin, end, factor);
  }
}

}  // namespace
}  // namespace strata::device::cpu
