#include "compliance/language/builtins/math_module.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "compliance/language/builtins/numbers.h"

namespace strata::compliance {
namespace builtins {
namespace {

constexpr Name kMath[] = {{"ceil", Builtin::kMathCeil},       {"exp", Builtin::kMathExp},
                          {"fabs", Builtin::kMathFabs},       {"floor", Builtin::kMathFloor},
                          {"isclose", Builtin::kMathIsClose}, {"isfinite", Builtin::kMathIsFinite},
                          {"isinf", Builtin::kMathIsInf},     {"isnan", Builtin::kMathIsNan},
                          {"log", Builtin::kMathLog},         {"log10", Builtin::kMathLog10},
                          {"log2", Builtin::kMathLog2},       {"pow", Builtin::kMathPow},
                          {"sqrt", Builtin::kMathSqrt}};

bool is_close(const Arguments& arguments) {
  constexpr double kRelative = 1e-9;
  expect_count(arguments, 2, 2, "math.isclose()");
  const double a = to_double(arguments[0], "math.isclose()");
  const double b = to_double(arguments[1], "math.isclose()");
  if (a == b) return true;
  if (std::isinf(a) || std::isinf(b)) return false;
  return std::fabs(a - b) <= kRelative * std::max(std::fabs(a), std::fabs(b));
}

Value power(double x, double y) {
  const double result = std::pow(x, y);
  if (!std::isfinite(result) && std::isfinite(x) && std::isfinite(y))
    throw RuleError("math.pow(): the result is out of range");
  return Value::of_float(result);
}

// Both numbers must be positive, and the base must not be 1.
Value logarithm(double x, double base) {
  if (x <= 0 || base <= 0 || base == 1) throw RuleError("math.log(): this logarithm is undefined");
  return Value::of_float(std::log(x) / std::log(base));
}

}  // namespace

Value call_math(Builtin function, const Arguments& arguments, BuiltinHost& host) {
  constexpr std::string_view kWhat = "math";
  if (function == Builtin::kMathIsClose) return Value::of_bool(is_close(arguments));
  if (function == Builtin::kMathPow || (function == Builtin::kMathLog && arguments.size() == 2)) {
    expect_count(arguments, 2, 2, kWhat);
  } else {
    expect_count(arguments, 1, 1, kWhat);
  }
  const double x = to_double(arguments[0], kWhat);
  const auto positive = [&] {
    if (x <= 0) throw RuleError("math: the logarithm needs a positive number");
    return x;
  };
  const auto finite = [&](double result) {
    if (!std::isfinite(result) && std::isfinite(x))
      throw RuleError("math: the result is out of range");
    return Value::of_float(result);
  };
  switch (function) {
    case Builtin::kMathCeil:
      return arguments[0].kind() == Kind::kInt ? arguments[0]
                                               : integer_from(std::ceil(x), host, "math.ceil()");
    case Builtin::kMathFloor:
      return arguments[0].kind() == Kind::kInt ? arguments[0]
                                               : integer_from(std::floor(x), host, "math.floor()");
    case Builtin::kMathExp:
      return finite(std::exp(x));
    case Builtin::kMathFabs:
      return Value::of_float(std::fabs(x));
    case Builtin::kMathIsFinite:
      return Value::of_bool(std::isfinite(x));
    case Builtin::kMathIsInf:
      return Value::of_bool(std::isinf(x));
    case Builtin::kMathIsNan:
      return Value::of_bool(std::isnan(x));
    case Builtin::kMathLog:
      if (arguments.size() == 2) return logarithm(x, to_double(arguments[1], kWhat));
      return Value::of_float(std::log(positive()));
    case Builtin::kMathLog10:
      return Value::of_float(std::log10(positive()));
    case Builtin::kMathLog2:
      return Value::of_float(std::log2(positive()));
    case Builtin::kMathPow:
      return power(x, to_double(arguments[1], kWhat));
    default:
      if (x < 0) throw RuleError("math.sqrt(): the number is negative");
      return Value::of_float(std::sqrt(x));
  }
}

}  // namespace builtins

std::optional<Value> find_math(std::string_view name) {
  if (name == "inf") return Value::of_float(std::numeric_limits<double>::infinity());
  if (name == "nan") return Value::of_float(std::numeric_limits<double>::quiet_NaN());
  if (name == "pi") return Value::of_float(std::numbers::pi);
  if (name == "e") return Value::of_float(std::numbers::e);
  return builtins::find_in(builtins::kMath, name, Kind::kFunction);
}

}  // namespace strata::compliance
