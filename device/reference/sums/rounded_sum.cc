#include "device/reference/sums/rounded_sum.h"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "device/plain/element.h"

namespace strata::device::reference {

using plain::load;
using plain::store;
namespace {

constexpr int kDoubleMantissa = 52;

// The precision of doubles makes a sum of two numbers of the format round once: 53 bits are at
// least twice the format's plus two.
void check(const RoundedSum& sum) {
  const auto [exponent, mantissa] = sum.format;
  if (exponent < 2 || exponent > 10 || mantissa < 1 || mantissa > 24) {
    fail("sums in {} exponent and {} mantissa bits: exponents have 2 to 10, mantissas 1 to 24",
         exponent, mantissa);
  }
  if (sum.chunk < 0 || sum.chunk == 1) {
    fail("sums in chunks of {}: a chunk has at least 2 terms; 0 means no chunks", sum.chunk);
  }
}

double sum_in_a_row(std::span<const double> terms, const FloatFormat& format) {
  double sum = 0;
  for (const double term : terms) sum = rounded(sum + term, format);
  return sum;
}

}  // namespace

double rounded(double value, const FloatFormat& format) {
  const int dropped = kDoubleMantissa - format.mantissa_bits;
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  if (value == 0 || !std::isfinite(value)) return value;
  if (std::abs(value) < std::ldexp(1.0, 1 - bias)) {  // spacing of the subnormals
    const int step = 1 - bias - format.mantissa_bits;
    return std::ldexp(std::nearbyint(std::ldexp(value, -step)), step);
  }
  const auto bits = std::bit_cast<uint64_t>(value);
  const uint64_t below_half = (uint64_t{1} << (dropped - 1)) - 1;
  const uint64_t odd = (bits >> dropped) & 1;
  const double near =
      std::bit_cast<double>((bits + below_half + odd) & ~((uint64_t{1} << dropped) - 1));
  if (std::abs(near) < std::ldexp(1.0, bias + 1)) return near;
  return std::copysign(std::numeric_limits<double>::infinity(), value);
}

double rounded_sum(std::span<const double> terms, const RoundedSum& sum) {
  check(sum);
  std::vector<double> sums;
  while (sum.chunk != 0 && std::ssize(terms) > sum.chunk) {
    std::vector<double> next;
    for (size_t begin = 0; begin < terms.size(); begin += sum.chunk) {
      const size_t size = std::min(static_cast<size_t>(sum.chunk), terms.size() - begin);
      next.push_back(sum_in_a_row(terms.subspan(begin, size), sum.format));
    }
    sums.swap(next);
    terms = sums;
  }
  return sum_in_a_row(terms, sum.format);
}

void rounded_matmul(const RoundedMatmul& matmul) {
  const auto& [x, weight, sum, y] = matmul;
  check(sum);
  if (x.cols != weight.cols || y.rows != x.rows || y.cols != weight.rows) {
    fail("[{}, {}] times the transpose of [{}, {}] does not give [{}, {}]", x.rows, x.cols,
         weight.rows, weight.cols, y.rows, y.cols);
  }
  std::vector<double> products(x.cols);
  for (int64_t row = 0; row < x.rows; ++row) {
    for (int64_t out = 0; out < weight.rows; ++out) {
      for (int64_t k = 0; k < x.cols; ++k) {
        products[k] = load(x, row * x.cols + k) * load(weight, out * x.cols + k);
      }
      store(y, row * y.cols + out, rounded_sum(products, sum));
    }
  }
}

}  // namespace strata::device::reference
