// The optimizers' passes over flat ranges, and the plain pass they are measured against.
#pragma once

#include "device/cpu/kernels/math.h"
#include "device/gradient_moments.h"

namespace strata::device::cpu {
namespace {

template <bool kWriteCompute>
void adam_range(const AdamUpdate& op, int64_t begin, int64_t end, float factor) {
  float* __restrict w = op.weights.as<float>();
  const float* __restrict g = op.gradients.as<float>();
  float* __restrict m = op.first_moment.as<float>();
  float* __restrict v = op.second_moment.as<float>();
  uint16_t* __restrict compute = op.compute_weights.as<uint16_t>();
  const GradientMoments moments(op, factor);
  const float rate = op.learning_rate.now();
  for (int64_t i = begin; i < end; ++i) {
    const float updated = w[i] - rate * moments.update(w[i], g[i], m[i], v[i]);
    w[i] = updated;
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

inline LambNorms lamb_direction(const LambDirection& op, int64_t begin, int64_t end, float factor) {
  const float* __restrict w = op.weights.as<float>();
  float* __restrict g = op.gradients.as<float>();
  float* __restrict m = op.first_moment.as<float>();
  float* __restrict v = op.second_moment.as<float>();
  const GradientMoments moments(op, factor);
  double weights = 0.0, direction = 0.0;
  for (int64_t i = begin; i < end; ++i) {
    const float u = moments.update(w[i], g[i], m[i], v[i]);
    g[i] = u;
    weights += static_cast<double>(w[i]) * w[i];
    direction += static_cast<double>(u) * u;
  }
  return {weights, direction};
}

template <bool kWriteCompute>
void lamb_apply_range(const LambApply& op, int64_t begin, int64_t end, float rate) {
  float* __restrict w = op.weights.as<float>();
  const float* __restrict u = op.directions.as<float>();
  uint16_t* __restrict compute = op.compute_weights.as<uint16_t>();
  for (int64_t i = begin; i < end; ++i) {
    const float updated = w[i] - rate * u[i];
    w[i] = updated;
    if constexpr (kWriteCompute) store(compute[i], updated);
  }
}

inline void lamb_apply(const LambApply& op, int64_t begin, int64_t end, float rate) {
  if (op.compute_weights) {
    lamb_apply_range<true>(op, begin, end, rate);
  } else {
    lamb_apply_range<false>(op, begin, end, rate);
  }
}

template <int kModified, bool kWritten>
void plain_range(const PlainPass& pass, int64_t begin, int64_t end) {
  const float* __restrict read = pass.read;
  float* __restrict a = pass.modified[0];
  float* __restrict b = pass.modified[1];
  float* __restrict c = pass.modified[2];
  uint16_t* __restrict written = pass.written;
  const float factor = pass.factor, rest = 1.0f - factor;
  for (int64_t i = begin; i < end; ++i) {
    const float first = a[i] * factor + read[i] * rest;
    a[i] = first;
    if constexpr (kModified > 1) b[i] *= factor;
    if constexpr (kModified > 2) c[i] *= factor;
    if constexpr (kWritten)
      written[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(first) >> 16);
  }
}

template <bool kWritten>
void plain_pass_of(const PlainPass& pass, int64_t begin, int64_t end) {
  (pass.modified[2] ? plain_range<3, kWritten> : plain_range<1, kWritten>)(pass, begin, end);
}

inline void plain_pass(const PlainPass& pass, int64_t begin, int64_t end) {
  (pass.written ? plain_pass_of<true> : plain_pass_of<false>)(pass, begin, end);
}

}  // namespace
}  // namespace strata::device::cpu
