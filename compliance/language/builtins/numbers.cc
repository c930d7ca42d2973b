#include "compliance/language/builtins/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "base/text/from_chars.h"
#include "base/text/trim.h"

namespace strata::compliance::builtins {
namespace {

// The work of writing all digits that a double may have.
constexpr size_t kDigitsSteps = 1000;

// Python rounds half to even.
double round_half_even(double real) { return std::nearbyint(real); }

}  // namespace

Value integer_from(double real, BuiltinHost& host, std::string_view what) {
  if (!std::isfinite(real))
    throw RuleError(fmt::format("{}: cannot convert {} to an integer", what, real));
  if (real >= -9.2e18 && real <= 9.2e18) return Value::of_int(static_cast<int64_t>(real));
  host.spend(kDigitsSteps);
  return host.heap().big_int(fmt::format("{:.0f}", real));
}

Value to_float(const Arguments& arguments) {
  expect_count(arguments, 0, 1, "float()");
  if (arguments.empty()) return Value::of_float(0);
  if (arguments[0].kind() != Kind::kStr) return Value::of_float(to_double(arguments[0], "float()"));
  std::string_view text = trimmed(arguments[0].text());
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  double real = 0;
  const auto [end, error] = from_chars(text.data(), text.data() + text.size(), real);
  if (error == std::errc::result_out_of_range)
    real = std::strtod(std::string(text).c_str(), nullptr);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) {
    throw RuleError(
        fmt::format("float(): '{}' is not a number", arguments[0].text().substr(0, 60)));
  }
  return Value::of_float(real);
}

Value to_int(const Arguments& arguments, BuiltinHost& host) {
  expect_count(arguments, 0, 1, "int()");
  if (arguments.empty()) return Value::of_int(0);
  const Value& value = arguments[0];
  switch (value.kind()) {
    case Kind::kBool:
      return Value::of_int(value.integer());
    case Kind::kInt:
    case Kind::kBigInt:
      return value;
    case Kind::kFloat:
      return integer_from(std::trunc(value.real()), host, "int()");
    case Kind::kStr: {
      std::string_view text = trimmed(value.text());
      if (!text.empty() && text.front() == '+') text.remove_prefix(1);
      int64_t number = 0;
      const auto [end, error] = from_chars(text.data(), text.data() + text.size(), number);
      if (error == std::errc() && end == text.data() + text.size()) return Value::of_int(number);
      throw RuleError(
          fmt::format("int(): '{}' is not a 64-bit integer", value.text().substr(0, 60)));
    }
    default:
      throw RuleError(fmt::format("int(): cannot convert {}", type_name(value)));
  }
}

Value round_value(const Arguments& arguments, BuiltinHost& host) {
  expect_count(arguments, 1, 2, "round()");
  const Value& value = arguments[0];
  if (value.kind() == Kind::kInt || value.kind() == Kind::kBigInt) return value;
  if (value.kind() == Kind::kBool) return Value::of_int(value.integer());
  const double real = to_double(value, "round()");
  if (arguments.size() == 1) return integer_from(round_half_even(real), host, "round()");
  const double digits = to_double(arguments[1], "round()");
  if (digits < -300 || digits > 300 || !std::isfinite(real)) return Value::of_float(real);
  host.spend(kDigitsSteps);
  const std::string text = fmt::format("{:.{}f}", real, std::max(0, static_cast<int>(digits)));
  return Value::of_float(std::strtod(text.c_str(), nullptr));
}

bool is_integer(const Value& value) {
  const Kind kind = value.kind();
  if (kind == Kind::kInt || kind == Kind::kBigInt || kind == Kind::kBool) return true;
  const double real = to_double(value, "is_integer()");
  if (!std::isfinite(real)) throw RuleError("is_integer(): the value is not finite");
  return std::fabs(round_half_even(real) - real) < 0.00001;
}

}  // namespace strata::compliance::builtins
