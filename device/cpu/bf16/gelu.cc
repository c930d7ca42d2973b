#include "device/cpu/bf16/gelu.h"

#include <array>
#include <cmath>
#include <numbers>

#include "device/cpu/bf16/gelu_kernels.h"
#include "device/cpu/kernels/table.h"

namespace strata::device::cpu {
namespace {

double normal_density(double x) { return std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi); }
double half_gate(double x) { return 0.5 * std::erf(x / std::numbers::sqrt2); }
double slope(double x) { return half_gate(x) + x * normal_density(x); }

// gelu(x) = x/2 (1 + tanh(u)), u = sqrt(2/pi) (x + 0.044715 x^3) (Hendrycks & Gimpel 2016).
double half_gate_of_tanh(double x) {
  return 0.5 * std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x));
}
double slope_of_tanh(double x) {
  const double half = half_gate_of_tanh(x);
  const double d_inner = std::sqrt(2 / std::numbers::pi) * (1 + 3 * 0.044715 * x * x);
  return half + 2 * x * (0.25 - half * half) * d_inner;
}

// Interpolates the function with cubics at the Chebyshev nodes of each segment. Beyond the last
// segment the value is `last`.
SegmentedCubic segmented(double (*function)(double), double last) {
  constexpr int kTerms = 4;
  SegmentedCubic result{};
  result.coefficients[0][SegmentedCubic::kSegments - 1] = static_cast<float>(last);
  for (int segment = 0; segment + 1 < SegmentedCubic::kSegments; ++segment) {
    const double begin = segment * double{SegmentedCubic::kWidth};
    // Newton's divided differences, then powers of the distance from the segment's beginning.
    std::array<double, kTerms> nodes, differences;
    for (int i = 0; i < kTerms; ++i) {
      const double place = std::cos(std::numbers::pi * (2 * i + 1) / (2.0 * kTerms));
      nodes[i] = SegmentedCubic::kWidth * (1 + place) / 2;
      differences[i] = function(begin + nodes[i]);
    }
    for (int order = 1; order < kTerms; ++order) {
      for (int i = kTerms - 1; i >= order; --i) {
        differences[i] = (differences[i] - differences[i - 1]) / (nodes[i] - nodes[i - order]);
      }
    }
    std::array<double, kTerms> powers{};
    for (int i = kTerms - 1; i >= 0; --i) {
      for (int j = kTerms - 1; j > 0; --j) powers[j] = powers[j - 1] - nodes[i] * powers[j];
      powers[0] = differences[i] - nodes[i] * powers[0];
    }
    for (int i = 0; i < kTerms; ++i) {
      result.coefficients[i][segment] = static_cast<float>(powers[i]);
    }
  }
  return result;
}

}  // namespace

bool bf16_gelu_takes(Activation activation) {
  const bool gelu = activation == Activation::kGelu || activation == Activation::kGeluTanh;
  return gelu && multiplies_bf16_pairs();
}

void bf16_gelu_forward(Activation activation, const MatrixPart& part,
                       const uint16_t* pre_activation, uint16_t* y) {
  static const SegmentedCubic exact = segmented(half_gate, 0.5);
  static const SegmentedCubic by_tanh = segmented(half_gate_of_tanh, 0.5);
  gelu_forward(activation == Activation::kGelu ? exact : by_tanh, part, pre_activation, y);
}

void bf16_gelu_backward(Activation activation, const MatrixPart& part, const uint16_t* dy,
                        const uint16_t* pre_activation, uint16_t* dx) {
  static const SegmentedCubic exact = segmented(slope, 0.5);
  static const SegmentedCubic by_tanh = segmented(slope_of_tanh, 0.5);
  gelu_backward(activation == Activation::kGelu ? exact : by_tanh, part, dy, pre_activation, dx);
}

}  // namespace strata::device::cpu
