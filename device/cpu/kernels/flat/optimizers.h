// The optimizers' passes over flat ranges, and the plain pass that they are measured against.
#pragma once

#include <type_traits>

#include "device/cpu/kernels/math.h"
#include "device/operations/update_rules.h"

namespace strata::device::cpu {
namespace {

// Calls work(compute weights) with a pointer of their storage type, or a null void pointer if there
// are none.
template <typename Work>
void with_compute_weights(const Tensor& weights, const Work& work) {
  if (!weights) {
    work(static_cast<void*>(nullptr));
  } else if (weights.dtype == DType::kF16) {
    work(weights.as<Float16>());
  } else {
    work(weights.as<uint16_t>());
  }
}

template <typename Op, typename Compute, typename Rule>
void update_range(const UpdateArrays& arrays, Compute* __restrict compute, int64_t begin,
                  int64_t end, const Rule rule) {
  float* __restrict w = arrays.weights;
  const float* __restrict g = arrays.gradients;
  float* __restrict first = arrays.first;
  float* __restrict second = arrays.second;
  const float* __restrict initial = arrays.initial_weights;
  for (int64_t i = begin; i < end; ++i) {
    float no_second = 0.0f;
    const float updated =
        rule.new_weight(w[i], g[i], first[i], kTwoStates<Op> ? second[i] : no_second,
                        kReadsInitialWeights<Op> ? initial[i] : 0.0f);
    w[i] = updated;
    if constexpr (!std::is_void_v<Compute>) store(compute[i], updated);
  }
}

template <typename Op>
void update(const Op& op, int64_t begin, int64_t end, float factor) {
  with_rule_of(op, [&](auto rule) {
    with_compute_weights(op.compute_weights, [&](auto* compute) {
      update_range<Op>(arrays_of(op), compute, begin, end,
                       typename decltype(rule)::type(op, factor));
    });
  });
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

template <typename Compute>
void lamb_apply_range(const LambApply& op, Compute* __restrict compute, int64_t begin, int64_t end,
                      float rate) {
  float* __restrict w = op.weights.as<float>();
  const float* __restrict u = op.directions.as<float>();
  for (int64_t i = begin; i < end; ++i) {
    const float updated = w[i] - rate * u[i];
    w[i] = updated;
    if constexpr (!std::is_void_v<Compute>) store(compute[i], updated);
  }
}

inline void lamb_apply(const LambApply& op, int64_t begin, int64_t end, float rate) {
  with_compute_weights(op.compute_weights,
                       [&](auto* compute) { lamb_apply_range(op, compute, begin, end, rate); });
}

template <int kModified, bool kAlsoRead, bool kWritten>
void plain_range(const PlainPass& pass, int64_t begin, int64_t end) {
  const float* __restrict read = pass.read;
  const float* __restrict also_read = pass.also_read;
  float* __restrict a = pass.modified[0];
  float* __restrict b = pass.modified[1];
  float* __restrict c = pass.modified[2];
  uint16_t* __restrict written = pass.written;
  const float factor = pass.factor, rest = 1.0f - factor;
  for (int64_t i = begin; i < end; ++i) {
    float other = read[i];
    if constexpr (kAlsoRead) other += also_read[i];
    const float first = a[i] * factor + other * rest;
    a[i] = first;
    if constexpr (kModified > 1) b[i] *= factor;
    if constexpr (kModified > 2) c[i] *= factor;
    if constexpr (kWritten)
      written[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(first) >> 16);
  }
}

template <bool kWritten>
void plain_pass_of(const PlainPass& pass, int64_t begin, int64_t end) {
  if (pass.also_read) return plain_range<3, true, kWritten>(pass, begin, end);
  (pass.modified[2]   ? plain_range<3, false, kWritten>
   : pass.modified[1] ? plain_range<2, false, kWritten>
                      : plain_range<1, false, kWritten>)(pass, begin, end);
}

inline void plain_pass(const PlainPass& pass, int64_t begin, int64_t end) {
  (pass.written ? plain_pass_of<true> : plain_pass_of<false>)(pass, begin, end);
}

}  // namespace
}  // namespace strata::device::cpu
