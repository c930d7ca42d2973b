// The typed tree of a fragment of rule code.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "compliance/language/values/rule_value.h"

namespace strata::compliance {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct Constant {
  Value value;
};
// A variable of the host (`s`, `v`, ...) or of the fragment.
struct HostVariable {
  enum Which { kState, kValue, kLine, kEvents } which;
};
struct LocalVariable {
  size_t slot;
  std::string name;
};
struct Display {  // [..], (..), {..} without colons
  Kind kind;
  std::vector<ExpressionPtr> items;
};
struct DictDisplay {
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> items;
};
struct Subscript {
  ExpressionPtr object;
  ExpressionPtr key;
};
struct Attribute {
  ExpressionPtr object;
  std::string name;
};
struct Call {
  ExpressionPtr callee;
  std::vector<ExpressionPtr> arguments;
};
enum class UnaryOperator { kNot, kMinus, kPlus };
struct Unary {
  UnaryOperator op;
  ExpressionPtr operand;
};
enum class BinaryOperator {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
  kOr,
  kAnd,
  kXor
};
struct Binary {
  BinaryOperator op;
  ExpressionPtr left;
  ExpressionPtr right;
};
struct Logical {  // `and` or `or` of two or more
  bool is_and;
  std::vector<ExpressionPtr> operands;
};
enum class Comparison {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn,
  kIs,
  kIsNot
};
struct Compare {  // a < b < c
  ExpressionPtr first;
  std::vector<std::pair<Comparison, ExpressionPtr>> rest;
};
struct InConstants {  // `x in [..]` of constants only
  ExpressionPtr operand;
  bool negated;
  std::vector<Value> constants;
};
struct Conditional {
  ExpressionPtr condition;
  ExpressionPtr if_true;
  ExpressionPtr if_false;
};

struct Expression {
  std::variant<Constant, HostVariable, LocalVariable, Display, DictDisplay, Subscript, Attribute,
               Call, Unary, Binary, Logical, Compare, InConstants, Conditional>
      node;
  int depth =
      1;  // of the tree below, bounded by the parser so that evaluation cannot exhaust the stack
};

struct Statement;
using Block = std::vector<Statement>;

struct ExpressionStatement {
  ExpressionPtr expression;
};
struct Assignment {
  ExpressionPtr target;  // LocalVariable, Subscript or Attribute
  ExpressionPtr value;
  bool augmented = false;
  BinaryOperator op = BinaryOperator::kAdd;
};
struct If {
  std::vector<std::pair<ExpressionPtr, Block>> branches;  // if, elif, ...
  Block otherwise;
};
struct For {
  size_t slot;
  ExpressionPtr iterable;
  Block body;
};
struct Statement {
  std::variant<ExpressionStatement, Assignment, If, For> node;
};

// The names that a fragment, or several that share them, may assign to.
struct Locals {
  std::vector<std::string> names;
};

// A compiled fragment: an expression (CHECK) or statements (PRE, POST, CODE). Immutable, shared by
// threads.
struct Fragment {
  Fragment() = default;
  Fragment(Fragment&&) = default;
  Fragment& operator=(
      Fragment&& other) noexcept {  // what was here dies as a whole, in its own order
    source.swap(other.source);
    strings.swap(other.strings);
    expression.swap(other.expression);
    statements.swap(other.statements);
    locals.swap(other.locals);
    return *this;
  }

  std::string source;
  std::vector<std::shared_ptr<Str>>
      strings;               // what constants point to; declared first, so that they die last
  ExpressionPtr expression;  // null for statements
  Block statements;
  std::shared_ptr<Locals> locals;
};

}  // namespace strata::compliance
