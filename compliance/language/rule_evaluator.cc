#include "compliance/language/rule_evaluator.h"

#include <fmt/format.h>

#include <algorithm>

#include "compliance/language/rule_operators.h"

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

// The index that a subscript stands for, which counts from the end if it is negative. Nothing if it
// lies outside.
std::optional<size_t> index_in(const std::vector<Value>& items, const Value& subscript) {
  const auto size = static_cast<int64_t>(items.size());
  const int64_t index = subscript.integer() < 0 ? subscript.integer() + size : subscript.integer();
  if (index < 0 || index >= size) return std::nullopt;
  return static_cast<size_t>(index);
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
  if (old.kind() == Kind::kList && statement.op == BinaryOperator::kAdd) {
    // += changes a list in place.
    std::vector<Value> arguments = {operand};
    call_method(old, "extend", arguments, *this);
    assign(*statement.target, old);
    return;
  }
  assign(*statement.target, apply(statement.op, old, operand, heap_));
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
      const auto index = index_in(items, key);
      if (!index) throw RuleError("list index out of range");
      items[*index] = std::move(value);
      return;
    }
    throw RuleError(fmt::format("{} does not support item assignment", type_name(object)));
  }
  const auto& attribute = std::get<Attribute>(target.node);
  const Value object = evaluate(*attribute.object);
  if (object.kind() != Kind::kLine)
    throw RuleError(fmt::format("{} has no attribute that can be set", type_name(object)));
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
    if (found == nullptr) {
      throw RuleError(fmt::format("the dictionary has no key {}", to_repr(key, 80)));
    }
    return *found;
  }
  const bool sequence = object.is_sequence() || object.kind() == Kind::kStr;
  if (!sequence || (key.kind() != Kind::kInt && key.kind() != Kind::kBool)) {
    throw RuleError(fmt::format("{} cannot be indexed with {}", type_name(object), type_name(key)));
  }
  const std::vector<Value> letters =
      object.kind() == Kind::kStr ? elements(object, *this) : std::vector<Value>();
  const std::vector<Value>& items = object.kind() == Kind::kStr ? letters : object.items();
  const auto index = index_in(items, key);
  if (!index) throw RuleError(fmt::format("index {} is out of range", key.integer()));
  return items[*index];
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
  if (!operand.is_number())
    throw RuleError(fmt::format("unary + and - need a number, found {}", type_name(operand)));
  const Value zero = Value::of_int(0);
  if (operand.kind() == Kind::kFloat) {
    return Value::of_float(node.op == UnaryOperator::kMinus ? -operand.real() : operand.real());
  }
  return calculate(
      node.op == UnaryOperator::kMinus ? BinaryOperator::kSubtract : BinaryOperator::kAdd, zero,
      operand, heap_);
}

Value Evaluator::evaluate(const Binary& node) {
  const Value left = evaluate(*node.left);
  const Value right = evaluate(*node.right);
  return apply(node.op, left, right, heap_);
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
    if (!holds(op, left, right, heap_)) return Value::of_bool(false);
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

}  // namespace strata::compliance
