// Flat loops: conversion, scaling and sums.
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

}  // namespace
}  // namespace strata::device::cpu
