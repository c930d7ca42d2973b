#include "compliance/language/values/integer_quotient.h"

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

#include "compliance/language/values/rule_value.h"

namespace strata::compliance {
namespace {

using boost::multiprecision::cpp_int;

cpp_int magnitude(std::string_view digits) {
  if (digits.starts_with('-')) digits.remove_prefix(1);
  // A leading zero would mean octal.
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits.empty() ? cpp_int(0) : cpp_int(digits);
}

// bits * 2^exponent, rounded once, also where the result is subnormal. `bits` has more bits than a
// double, and its last one stands for all that follow.
double rounded(uint64_t bits, int exponent) {
  using Double = std::numeric_limits<double>;
  const int highest = 63 - __builtin_clzll(bits) + exponent;  // of the result's bits
  const int lowest = std::max(highest - Double::digits + 1, Double::min_exponent - Double::digits);
  const int dropped = lowest - exponent;
  if (dropped > 63) return 0;
  const uint64_t half = uint64_t{1} << (dropped - 1), rest = bits & (2 * half - 1);
  uint64_t kept = bits >> dropped;
  if (rest > half || (rest == half && kept % 2 == 1)) ++kept;
  return std::ldexp(static_cast<double>(kept), lowest);
}

}  // namespace

double integer_quotient(std::string_view numerator, std::string_view denominator) {
  constexpr int kBits = 62;  // of the quotient, or one more
  cpp_int a = magnitude(numerator), b = magnitude(denominator);
  if (b == 0) throw RuleError("division by zero");
  const double sign = numerator.starts_with('-') == denominator.starts_with('-') ? 1.0 : -1.0;
  if (a == 0) return sign * 0.0;
  const int shift = kBits - (static_cast<int>(msb(a)) - static_cast<int>(msb(b)));
  (shift > 0 ? a : b) <<= std::abs(shift);
  cpp_int quotient, remainder;
  divide_qr(a, b, quotient, remainder);
  const auto bits = static_cast<uint64_t>(quotient) | (remainder == 0 ? 0 : 1);
  const double result = rounded(bits, -shift);
  if (std::isinf(result)) throw RuleError("division: the result is too large for a float");
  return sign * result;
}

}  // namespace strata::compliance
