#include "device/plain/activation.h"

#include <cmath>
#include <numbers>

namespace strata::device::plain {
namespace {

// GELU is x times the normal distribution function, here with its tanh approximation (Hendrycks &
// Gimpel 2016, "Gaussian error linear units").
double normal_distribution(double x) { return 0.5 * std::erfc(-x * std::numbers::sqrt2 / 2); }

double normal_density(double x) {
  return std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

constexpr double kCubic = 0.044715;
const double kInner = std::sqrt(2 / std::numbers::pi);

double gelu_tanh(double x) { return 0.5 * x * (1 + std::tanh(kInner * (x + kCubic * x * x * x))); }

double gelu_tanh_derivative(double x) {
  const double t = std::tanh(kInner * (x + kCubic * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * kInner * (1 + 3 * kCubic * x * x);
}

}  // namespace

double activate(Activation activation, double x) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kGelu:
      return x * normal_distribution(x);
    case Activation::kGeluTanh:
      return gelu_tanh(x);
    case Activation::kTanh:
      return std::tanh(x);
  }
  __builtin_unreachable();
}

double activation_derivative(Activation activation, double x) {
  switch (activation) {
    case Activation::kNone:
      return 1;
    case Activation::kGelu:
      return normal_distribution(x) + x * normal_density(x);
    case Activation::kGeluTanh:
      return gelu_tanh_derivative(x);
    case Activation::kTanh:
      return 1 - std::tanh(x) * std::tanh(x);
  }
  __builtin_unreachable();
}

}  // namespace strata::device::plain
