// Activations and their derivatives over flat ranges.
#pragma once

#include "device/cpu/kernels/math.h"

namespace strata::device::cpu {
namespace {

struct Gelu {
  static float value(float x) { return x * normal(x).cumulative; }
  static float derivative(float x) {
    const Normal n = normal(x);
    return n.cumulative + x * n.density;
  }
};

// gelu(x) = x/2 (1 + tanh(u)) = x / (1 + e^-2u), u = sqrt(2/pi) (x + 0.044715 x^3) (Hendrycks &
// Gimpel 2016).
struct GeluTanh {
  // 1 / (1 + e^-2u), from a power of at most 1. A NaN may be lost.
  static float gate(float x) {
    const float twice_u = 1.59576912160573071f * (x + 0.044715f * x * x * x);
    const float power = fast_exp_of_negative(twice_u < 0.0f ? twice_u : -twice_u);
    return (twice_u < 0.0f ? power : 1.0f) / (1.0f + power);
  }
  static float value(float x) { return x * gate(x); }
  static float derivative(float x) {
    const float s = gate(x);
    const float d_inner = 1.59576912160573071f * (1.0f + 3.0f * 0.044715f * x * x);
    return s + x * (s * (1.0f - s)) * d_inner;
  }
};

struct Tanh {
  static float value(float x) { return fast_tanh(x); }
  static float derivative(float x) {
    const float t = fast_tanh(x);
    return 1.0f - t * t;
  }
};

struct Identity {
  static float value(float x) { return x; }
  static float derivative(float) { return 1.0f; }
};

template <typename Function, typename T>
void apply(int64_t count, const T* pre_activation, T* y) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) store(y[i], Function::value(load(pre_activation[i])));
}

template <typename Function, typename T>
void apply_derivative(int64_t count, const T* dy, const T* pre_activation, T* dx) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    store(dx[i], load(dy[i]) * Function::derivative(load(pre_activation[i])));
  }
}

template <typename T>
void activation_forward(Activation activation, int64_t count, const T* pre_activation, T* y) {
  switch (activation) {
    case Activation::kNone:
      return apply<Identity>(count, pre_activation, y);
    case Activation::kGelu:
      return apply<Gelu>(count, pre_activation, y);
    case Activation::kGeluTanh:
      return apply<GeluTanh>(count, pre_activation, y);
    case Activation::kTanh:
      return apply<Tanh>(count, pre_activation, y);
  }
}

template <typename T>
void activation_backward(Activation activation, int64_t count, const T* dy, const T* pre_activation,
                         T* dx) {
  switch (activation) {
    case Activation::kNone:
      return apply_derivative<Identity>(count, dy, dy, dx);
    case Activation::kGelu:
      return apply_derivative<Gelu>(count, dy, pre_activation, dx);
    case Activation::kGeluTanh:
      return apply_derivative<GeluTanh>(count, dy, pre_activation, dx);
    case Activation::kTanh:
      return apply_derivative<Tanh>(count, dy, pre_activation, dx);
  }
}

}  // namespace
}  // namespace strata::device::cpu
