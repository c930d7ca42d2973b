#include "compliance/language/rule_operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "compliance/language/values/integer_quotient.h"

namespace strata::compliance {
namespace {

bool contains(const Value& container, const Value& item, Heap& heap) {
  if (container.kind() == Kind::kDict || container.kind() == Kind::kSet)
    return container.dict().find(item) != nullptr;
  if (container.kind() == Kind::kStr) {
    if (item.kind() != Kind::kStr)
      throw RuleError(
          fmt::format("'in' of a string needs a string on its left, found {}", type_name(item)));
    const std::string &text = container.text(), &part = item.text();
    heap.spend_text(text.size() + part.size());
    // std::string::find does not take linear time.
    return ::memmem(text.data(), text.size(), part.data(), part.size()) != nullptr;
  }
  if (!container.is_sequence())
    throw RuleError(fmt::format("{} cannot be searched with 'in'", type_name(container)));
  heap.spend(container.items().size());
  return std::any_of(container.items().begin(), container.items().end(),
                     [&](const Value& element) { return equal(element, item, heap); });
}

// Python's floor division and remainder of integers.
std::pair<int64_t, int64_t> floor_divide(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  int64_t remainder = a % b;
  if (remainder != 0 && (remainder < 0) != (b < 0)) {
    --quotient;
    remainder += b;
  }
  return {quotient, remainder};
}

// The same for floats, with Python's signs of zero.
std::pair<double, double> floor_divide(double a, double b) {
  double remainder = std::fmod(a, b);
  double quotient = (a - remainder) / b;
  if (remainder == 0) {
    remainder = std::copysign(0.0, b);
  } else if ((remainder < 0) != (b < 0)) {
    remainder += b;
    quotient -= 1;
  }
  if (quotient == 0) return {std::copysign(0.0, a / b), remainder};
  const double floor = std::floor(quotient);
  return {quotient - floor > 0.5 ? floor + 1 : floor, remainder};
}

bool integer_power(int64_t base, int64_t exponent, int64_t& result) {
  result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) return false;
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return false;
  }
  return true;
}

double divide_integers(const Value& left, const Value& right, Heap& heap) {
  const auto is_a_double = [](const Value& value) {
    constexpr int64_t kMost = int64_t{1} << 53;
    return value.kind() != Kind::kBigInt && value.integer() <= kMost && value.integer() >= -kMost;
  };
  if (is_a_double(left) && is_a_double(right)) {
    if (right.integer() == 0) throw RuleError("division by zero");
    return static_cast<double>(left.integer()) / static_cast<double>(right.integer());
  }
  const std::string numerator = integer_digits(left), denominator = integer_digits(right);
  const size_t most = std::max(numerator.size(), denominator.size());
  heap.spend_text(most * most / 64);
  return integer_quotient(numerator, denominator);
}

}  // namespace

Value apply(BinaryOperator op, const Value& left, const Value& right, Heap& heap) {
  if (left.is_number() && right.is_number()) return calculate(op, left, right, heap);
  if (op == BinaryOperator::kAdd && left.kind() == Kind::kStr && right.kind() == Kind::kStr) {
    heap.spend_text(left.text().size() + right.text().size());
    return heap.str(left.text() + right.text());
  }
  if (op == BinaryOperator::kAdd && left.is_sequence() && left.kind() == right.kind()) {
    Value joined = heap.list(left.kind());
    const size_t size = left.items().size() + right.items().size();
    heap.spend(size);
    heap.charge(size * sizeof(Value));
    auto& items = joined.items();
    items = left.items();
    items.insert(items.end(), right.items().begin(), right.items().end());
    return joined;
  }
  throw RuleError(
      fmt::format("this operator cannot combine {} and {}", type_name(left), type_name(right)));
}

Value calculate(BinaryOperator op, const Value& left, const Value& right, Heap& heap) {
  const auto small = [](const Value& value) {
    return value.kind() == Kind::kInt || value.kind() == Kind::kBool;
  };
  if (small(left) && small(right)) {
    const int64_t a = left.integer();
    const int64_t b = right.integer();
    const bool flags = left.kind() == Kind::kBool && right.kind() == Kind::kBool;
    int64_t result = 0;
    switch (op) {
      case BinaryOperator::kAdd:
        if (!__builtin_add_overflow(a, b, &result)) return Value::of_int(result);
        break;
      case BinaryOperator::kSubtract:
        if (!__builtin_sub_overflow(a, b, &result)) return Value::of_int(result);
        break;
      case BinaryOperator::kMultiply:
        if (!__builtin_mul_overflow(a, b, &result)) return Value::of_int(result);
        break;
      case BinaryOperator::kFloorDivide:
      case BinaryOperator::kModulo:
        if (b == 0) throw RuleError("division by zero");
        if (a == std::numeric_limits<int64_t>::min() && b == -1) break;
        return Value::of_int(op == BinaryOperator::kModulo ? floor_divide(a, b).second
                                                           : floor_divide(a, b).first);
      case BinaryOperator::kPower:
        if (b >= 0 && integer_power(a, b, result)) return Value::of_int(result);
        break;
      case BinaryOperator::kOr:
        return flags ? Value::of_bool((a | b) != 0) : Value::of_int(a | b);
      case BinaryOperator::kAnd:
        return flags ? Value::of_bool((a & b) != 0) : Value::of_int(a & b);
      case BinaryOperator::kXor:
        return flags ? Value::of_bool((a ^ b) != 0) : Value::of_int(a ^ b);
      default:
        break;
    }
  }
  spend_digits(left, heap);
  spend_digits(right, heap);
  if (op == BinaryOperator::kDivide && left.kind() != Kind::kFloat &&
      right.kind() != Kind::kFloat) {
    return Value::of_float(divide_integers(left, right, heap));
  }
  const double a = to_double(left, "arithmetic");
  const double b = to_double(right, "arithmetic");
  switch (op) {
    case BinaryOperator::kAdd:
      return Value::of_float(a + b);
    case BinaryOperator::kSubtract:
      return Value::of_float(a - b);
    case BinaryOperator::kMultiply:
      return Value::of_float(a * b);
    case BinaryOperator::kDivide:
      if (b == 0) throw RuleError("division by zero");
      return Value::of_float(a / b);
    case BinaryOperator::kFloorDivide:
      if (b == 0) throw RuleError("division by zero");
      return Value::of_float(floor_divide(a, b).first);
    case BinaryOperator::kModulo:
      if (b == 0) throw RuleError("division by zero");
      return Value::of_float(floor_divide(a, b).second);
    case BinaryOperator::kPower: {
      if (a == 0 && b < 0) throw RuleError("division by zero");
      if (a < 0 && b != std::floor(b)) throw RuleError("a root of a negative number");
      const double power = std::pow(a, b);
      if (std::isinf(power) && std::isfinite(a) && std::isfinite(b))
        throw RuleError("the power is out of range");
      return Value::of_float(power);
    }
    default:
      throw RuleError("bit operations need integers");
  }
}

bool holds(Comparison op, const Value& left, const Value& right, Heap& heap) {
  const auto same_object = [&] {
    if (left.kind() != right.kind()) return false;
    if (left.is_object()) return left.object() == right.object();
    return left.kind() == Kind::kFloat
               ? left.real() == right.real()
               : left.integer() == right.integer() || left.kind() == Kind::kNone;
  };
  switch (op) {
    case Comparison::kEqual:
      return equal(left, right, heap);
    case Comparison::kNotEqual:
      return !equal(left, right, heap);
    case Comparison::kIs:
      return same_object();
    case Comparison::kIsNot:
      return !same_object();
    case Comparison::kIn:
      return contains(right, left, heap);
    case Comparison::kNotIn:
      return !contains(right, left, heap);
    default:
      break;
  }
  const int order = compare(left, right, heap);
  switch (op) {
    case Comparison::kLess:
      return order == -1;
    case Comparison::kLessEqual:
      return order == -1 || order == 0;
    case Comparison::kGreater:
      return order == 1;
    default:
      return order == 1 || order == 0;
  }
}

}  // namespace strata::compliance
