#include "compliance/language/rule_evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "compliance/language/integer_quotient.h"

namespace strata::compliance {

namespace {

// Whether the value depends on nothing that evaluating it changes.
bool is_pure(const Expression& expression) {
  if (const auto* subscript = std::get_if<Subscript>(&expression.node))
    return is_pure(*subscript->object) && is_pure(*subscript->key);
  if (const auto* binary = std::get_if<Binary>(&expression.node))
    return is_pure(*binary->left) && is_pure(*binary->right);
  if (const auto* attribute = std::get_if<Attribute>(&expression.node))
    return is_pure(*attribute->object);
  return std::holds_alternative<Constant>(expression.node) ||
         std::holds_alternative<HostVariable>(expression.node);
}

bool is_time_of_line(const Expression& expression) {
  const auto* attribute = std::get_if<Attribute>(&expression.node);
  const auto* object =
      attribute == nullptr ? nullptr : std::get_if<HostVariable>(&attribute->object->node);
  return object != nullptr && object->which == HostVariable::kLine &&
         attribute->name == "timestamp";
}

}  // namespace

Evaluator::Evaluator(Heap& heap, RuleHost& host) : heap_(heap), host_(host), state_(heap.dict()) {}

void Evaluator::set_line(Value v, Value ll) {
  v_ = std::move(v);
  ll_ = std::move(ll);
}

void Evaluator::append_event(const Value& line) {
  if (line.kind() != Kind::kLine) throw RuleError("only log lines can be added to loglines");
  heap_.charge(sizeof(Value));
  host_.append_event(line);
}

std::optional<std::pair<double, double>> Evaluator::time_and_limit(const Fragment& fragment) {
  const auto* compare =
      fragment.expression == nullptr ? nullptr : std::get_if<Compare>(&fragment.expression->node);
  if (compare == nullptr || compare->rest.size() != 1) return std::nullopt;
  const auto& [op, limit] = compare->rest.front();
  const auto* difference = std::get_if<Binary>(&compare->first->node);
  const bool is_limit = (op == Comparison::kLess || op == Comparison::kLessEqual) &&
                        difference != nullptr && difference->op == BinaryOperator::kSubtract &&
                        is_time_of_line(*difference->left) && is_pure(*difference->right) &&
                        is_pure(*limit);
  if (!is_limit) return std::nullopt;
  try {
    return std::pair(to_double(evaluate(*compare->first), "time"),
                     to_double(evaluate(*limit), "limit"));
  } catch (const RuleError&) {
    return std::nullopt;
  }
}

void Evaluator::prepare_locals(const Fragment& fragment, bool keep) {
  if (!keep) locals_.clear();
  locals_.resize(fragment.locals->names.size());
  spend(locals_.size() / 4);
}

bool Evaluator::check(const Fragment& fragment, bool keep_locals) {
  return truthy(value_of(fragment, keep_locals));
}

Value Evaluator::value_of(const Fragment& fragment, bool keep_locals) {
  prepare_locals(fragment, keep_locals);
  return evaluate(*fragment.expression);
}

void Evaluator::execute(const Fragment& fragment, bool keep_locals) {
  prepare_locals(fragment, keep_locals);
  run(fragment.statements);
}

void Evaluator::run(const Block& block) {
  for (const Statement& statement : block) {
    spend(1);
    std::visit([this](const auto& node) { run(node); }, statement.node);
  }
}

void Evaluator::run(const ExpressionStatement& statement) { evaluate(*statement.expression); }

void Evaluator::run(const Assignment& statement) {
  if (!statement.augmented) {
    assign(*statement.target, evaluate(*statement.value));
    return;
  }
  const Value old = evaluate(*statement.target);
  const Value operand = evaluate(*statement.value);
  if (old.kind() == Kind::kList &&
      statement.op == BinaryOperator::kAdd) {  // += changes a list in place
    std::vector<Value> arguments = {operand};
    call_method(old, "extend", arguments, *this);
    assign(*statement.target, old);
    return;
  }
  assign(*statement.target, binary(statement.op, old, operand));
}

void Evaluator::run(const If& statement) {
  for (const auto& [condition, block] : statement.branches) {
    if (truthy(evaluate(*condition))) return run(block);
  }
  run(statement.otherwise);
}

void Evaluator::run(const For& statement) {
  const Value iterable = evaluate(*statement.iterable);
  const auto step = [&](const Value& item) {
    spend(1);
    locals_[statement.slot] = {true, item};
    run(statement.body);
  };
  if (iterable.kind() == Kind::kEventList) {
    host_.visit_events(step);
    return;
  }
  for (const Value& item : elements(iterable, *this)) step(item);
}

void Evaluator::assign(const Expression& target, Value value) {
  if (const auto* local = std::get_if<LocalVariable>(&target.node)) {
    locals_[local->slot] = {true, std::move(value)};
    return;
  }
  if (const auto* subscript = std::get_if<Subscript>(&target.node)) {
    const Value object = evaluate(*subscript->object);
    const Value key = evaluate(*subscript->key);
    if (object.kind() == Kind::kDict) {
      object.dict().insert(key) = std::move(value);
      return;
    }
    if (object.kind() == Kind::kList && (key.kind() == Kind::kInt || key.kind() == Kind::kBool)) {
      auto& items = object.items();
      const auto size = static_cast<int64_t>(items.size());
      const int64_t index = key.integer() < 0 ? key.integer() + size : key.integer();
      if (index < 0 || index >= size) throw RuleError("list index out of range");
      items[static_cast<size_t>(index)] = std::move(value);
      return;
    }
    throw RuleError(fmt::format("{} does not take item assignment", type_name(object)));
  }
  const auto& attribute = std::get<Attribute>(target.node);
  const Value object = evaluate(*attribute.object);
  if (object.kind() != Kind::kLine)
    throw RuleError(fmt::format("{} has no such attribute", type_name(object)));
  Line& line = object.line();
  const auto text = [&]() -> const std::string& {
    if (value.kind() != Kind::kStr)
      throw RuleError(fmt::format("{}: a string is expected", attribute.name));
    heap_.charge(value.text().size());
    return value.text();
  };
  if (attribute.name == "key") {
    line.key = text();
  } else if (attribute.name == "full_string") {
    line.full_string = text();
  } else if (attribute.name == "timestamp") {
    line.timestamp = to_double(value, "timestamp");
  } else if (attribute.name == "lineno") {
    if (value.kind() != Kind::kInt) throw RuleError("lineno: an integer is expected");
    line.lineno = value.integer();
  } else if (attribute.name == "value") {
    line.value = std::move(value);
  } else {
    throw RuleError(fmt::format("a log line has no attribute '{}'", attribute.name));
  }
}

Value Evaluator::evaluate(const Expression& expression) {
  spend(1);
  return std::visit([this](const auto& node) { return evaluate(node); }, expression.node);
}

Value Evaluator::evaluate(const HostVariable& node) {
  switch (node.which) {
    case HostVariable::kState:
      return state_;
    case HostVariable::kValue:
      return v_;
    case HostVariable::kLine:
      return ll_;
    default:
      return Value::of_id(Kind::kEventList, 0);
  }
}

Value Evaluator::evaluate(const LocalVariable& node) {
  const Local& local = locals_[node.slot];
  if (!local.set) throw RuleError(fmt::format("'{}' has no value yet", node.name));
  return local.value;
}

Value Evaluator::evaluate(const Display& node) {
  if (node.kind == Kind::kSet) {
    Value set = heap_.dict(Kind::kSet);
    for (const ExpressionPtr& item : node.items) set.dict().insert(evaluate(*item));
    return set;
  }
  Value list = heap_.list(node.kind);
  heap_.charge(node.items.size() * sizeof(Value));
  list.items().reserve(node.items.size());
  for (const ExpressionPtr& item : node.items) list.items().push_back(evaluate(*item));
  return list;
}

Value Evaluator::evaluate(const DictDisplay& node) {
  Value dict = heap_.dict();
  for (const auto& [key, value] : node.items) {
    const Value name = evaluate(*key);
    Value content = evaluate(*value);
    dict.dict().insert(name) = std::move(content);
  }
  return dict;
}

Value Evaluator::evaluate(const Subscript& node) {
  const Value object = evaluate(*node.object);
  const Value key = evaluate(*node.key);
  if (object.kind() == Kind::kDict) {
    const Value* found = object.dict().find(key);
    if (found == nullptr) throw RuleError(fmt::format("there is no {}", to_repr(key, 80)));
    return *found;
  }
  const bool sequence = object.is_sequence() || object.kind() == Kind::kStr;
  if (!sequence || (key.kind() != Kind::kInt && key.kind() != Kind::kBool)) {
    throw RuleError(fmt::format("{} cannot be indexed with {}", type_name(object), type_name(key)));
  }
  const std::vector<Value> letters =
      object.kind() == Kind::kStr ? elements(object, *this) : std::vector<Value>();
  const std::vector<Value>& items = object.kind() == Kind::kStr ? letters : object.items();
  const auto size = static_cast<int64_t>(items.size());
  const int64_t index = key.integer() < 0 ? key.integer() + size : key.integer();
  if (index < 0 || index >= size)
    throw RuleError(fmt::format("index {} is out of range", key.integer()));
  return items[static_cast<size_t>(index)];
}

Value Evaluator::evaluate(const Attribute& node) {
  const Value object = evaluate(*node.object);
  if (object.kind() == Kind::kLine) {
    const Line& line = object.line();
    if (node.name == "timestamp") return Value::of_float(line.timestamp);
    if (node.name == "value") return line.value;
    if (node.name == "lineno") return Value::of_int(line.lineno);
    if (node.name == "key" || node.name == "full_string") {
      const std::string& text = node.name == "key" ? line.key : line.full_string;
      heap_.spend_text(text.size());
      return heap_.str(text);
    }
  }
  throw RuleError(fmt::format("{} has no attribute '{}'", type_name(object), node.name));
}

Value Evaluator::evaluate(const Call& node) {
  const auto* method = std::get_if<Attribute>(&node.callee->node);
  const Value callee = method != nullptr ? evaluate(*method->object) : evaluate(*node.callee);
  std::vector<Value> arguments;
  arguments.reserve(node.arguments.size());
  for (const ExpressionPtr& argument : node.arguments) arguments.push_back(evaluate(*argument));
  if (method != nullptr) return call_method(callee, method->name, arguments, *this);
  if (callee.kind() != Kind::kFunction && callee.kind() != Kind::kType) {
    throw RuleError(fmt::format("{} cannot be called", type_name(callee)));
  }
  return call_builtin(static_cast<Builtin>(callee.integer()), arguments, *this);
}

Value Evaluator::evaluate(const Unary& node) {
  const Value operand = evaluate(*node.operand);
  if (node.op == UnaryOperator::kNot) return Value::of_bool(!truthy(operand));
  if (!operand.is_number()) throw RuleError(fmt::format("{} has no sign", type_name(operand)));
  const Value zero = Value::of_int(0);
  if (operand.kind() == Kind::kFloat) {
    return Value::of_float(node.op == UnaryOperator::kMinus ? -operand.real() : operand.real());
  }
  return arithmetic(
      node.op == UnaryOperator::kMinus ? BinaryOperator::kSubtract : BinaryOperator::kAdd, zero,
      operand);
}

Value Evaluator::evaluate(const Binary& node) {
  const Value left = evaluate(*node.left);
  const Value right = evaluate(*node.right);
  return binary(node.op, left, right);
}

Value Evaluator::evaluate(const Logical& node) {
  Value value;
  for (const ExpressionPtr& operand : node.operands) {
    value = evaluate(*operand);
    if (truthy(value) != node.is_and) break;
  }
  return value;
}

Value Evaluator::evaluate(const Compare& node) {
  Value left = evaluate(*node.first);
  for (const auto& [op, expression] : node.rest) {
    Value right = evaluate(*expression);
    if (!compare_once(op, left, right)) return Value::of_bool(false);
    left = std::move(right);
  }
  return Value::of_bool(true);
}

Value Evaluator::evaluate(const InConstants& node) {
  const Value operand = evaluate(*node.operand);
  const bool found =
      std::any_of(node.constants.begin(), node.constants.end(),
                  [&](const Value& constant) { return equal(operand, constant, heap_); });
  return Value::of_bool(found != node.negated);
}

Value Evaluator::evaluate(const Conditional& node) {
  return evaluate(truthy(evaluate(*node.condition)) ? *node.if_true : *node.if_false);
}

bool Evaluator::contains(const Value& container, const Value& item) {
  if (container.kind() == Kind::kDict || container.kind() == Kind::kSet)
    return container.dict().find(item) != nullptr;
  if (container.kind() == Kind::kStr) {
    if (item.kind() != Kind::kStr)
      throw RuleError(fmt::format("{} cannot be in a string", type_name(item)));
    const std::string &text = container.text(), &part = item.text();
    heap_.spend_text(text.size() + part.size());
    // In linear time, which std::string::find is not.
    return ::memmem(text.data(), text.size(), part.data(), part.size()) != nullptr;
  }
  if (!container.is_sequence())
    throw RuleError(fmt::format("{} cannot be searched with 'in'", type_name(container)));
  spend(container.items().size());
  return std::any_of(container.items().begin(), container.items().end(),
                     [&](const Value& element) { return equal(element, item, heap_); });
}

bool Evaluator::compare_once(Comparison op, const Value& left, const Value& right) {
  const auto same_object = [&] {
    if (left.kind() != right.kind()) return false;
    if (left.is_object()) return left.object() == right.object();
    return left.kind() == Kind::kFloat
               ? left.real() == right.real()
               : left.integer() == right.integer() || left.kind() == Kind::kNone;
  };
  switch (op) {
    case Comparison::kEqual:
      return equal(left, right, heap_);
    case Comparison::kNotEqual:
      return !equal(left, right, heap_);
    case Comparison::kIs:
      return same_object();
    case Comparison::kIsNot:
      return !same_object();
    case Comparison::kIn:
      return contains(right, left);
    case Comparison::kNotIn:
      return !contains(right, left);
    default:
      break;
  }
  const int order = compare(left, right, heap_);
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

Value Evaluator::binary(BinaryOperator op, const Value& left, const Value& right) {
  if (left.is_number() && right.is_number()) return arithmetic(op, left, right);
  if (op == BinaryOperator::kAdd && left.kind() == Kind::kStr && right.kind() == Kind::kStr) {
    heap_.spend_text(left.text().size() + right.text().size());
    return heap_.str(left.text() + right.text());
  }
  if (op == BinaryOperator::kAdd && left.is_sequence() && left.kind() == right.kind()) {
    Value joined = heap_.list(left.kind());
    const size_t size = left.items().size() + right.items().size();
    spend(size);
    heap_.charge(size * sizeof(Value));
    auto& items = joined.items();
    items = left.items();
    items.insert(items.end(), right.items().begin(), right.items().end());
    return joined;
  }
  throw RuleError(
      fmt::format("{} and {} cannot be combined so", type_name(left), type_name(right)));
}

namespace {

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

// The same of floats, with Python's signs of zero.
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

}  // namespace

double Evaluator::divide_integers(const Value& left, const Value& right) {
  const auto is_a_double = [](const Value& value) {
    constexpr int64_t kMost = int64_t{1} << 53;
    return value.kind() != Kind::kBigInt && value.integer() <= kMost && value.integer() >= -kMost;
  };
  if (is_a_double(left) && is_a_double(right)) {
    if (right.integer() == 0) throw RuleError("division by zero");
    return static_cast<double>(left.integer()) / static_cast<double>(right.integer());
  }
  const auto digits = [](const Value& value) {
    return value.kind() == Kind::kBigInt ? value.text() : std::to_string(value.integer());
  };
  const std::string numerator = digits(left), denominator = digits(right);
  const size_t most = std::max(numerator.size(), denominator.size());
  heap_.spend_text(most * most / 64);
  return integer_quotient(numerator, denominator);
}

// Integers are exact to 64 bits; another result beyond that is the nearest float.
Value Evaluator::arithmetic(BinaryOperator op, const Value& left, const Value& right) {
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
  for (const Value* operand : {&left, &right}) {
    if (operand->kind() == Kind::kBigInt) heap_.spend_text(operand->text().size());
  }
  if (op == BinaryOperator::kDivide && left.kind() != Kind::kFloat &&
      right.kind() != Kind::kFloat) {
    return Value::of_float(divide_integers(left, right));
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

}  // namespace strata::compliance
