#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "compliance/language/parser/fragment_parser.h"

namespace strata::compliance {
namespace {

Comparison op_of(const Compare& node) { return node.rest.front().first; }

struct Level {
  std::string_view text;
  BinaryOperator op;
  int level;
};

}  // namespace

ExpressionPtr FragmentParser::expression() {
  const Nesting nesting(*this);
  if (next_is_word("lambda")) fail_here("'lambda' is not supported");
  ExpressionPtr value = or_test();
  if (next_is_word("if")) {
    ++at_;
    ExpressionPtr condition = or_test();
    if (!take_word("else"))
      fail_here(fmt::format("'else' was expected, found {}", describe(next())));
    ExpressionPtr otherwise = expression();
    const int depth = std::max({depth_of(value), depth_of(condition), depth_of(otherwise)});
    value = make(Conditional{std::move(condition), std::move(value), std::move(otherwise)}, depth);
  }
  if (next_is(":=")) fail_here("':=' is not supported");
  return value;
}

ExpressionPtr FragmentParser::or_test() { return logical("or", false); }
ExpressionPtr FragmentParser::and_test() { return logical("and", true); }

ExpressionPtr FragmentParser::logical(std::string_view word, bool is_and) {
  ExpressionPtr first = is_and ? not_test() : and_test();
  if (!next_is_word(word)) return first;
  Logical node{is_and, {}};
  int depth = depth_of(first);
  node.operands.push_back(std::move(first));
  while (take_word(word)) {
    node.operands.push_back(is_and ? not_test() : and_test());
    depth = std::max(depth, depth_of(node.operands.back()));
  }
  return make(std::move(node), depth);
}

ExpressionPtr FragmentParser::not_test() {
  if (!next_is_word("not")) return comparison();
  const Nesting nesting(*this);
  ++at_;
  ExpressionPtr operand = not_test();
  const int depth = depth_of(operand);
  return make(Unary{UnaryOperator::kNot, std::move(operand)}, depth);
}

bool FragmentParser::take_comparison(Comparison& op) {
  static constexpr std::array<std::pair<std::string_view, Comparison>, 6> kSymbols = {
      {{"==", Comparison::kEqual},
       {"!=", Comparison::kNotEqual},
       {"<", Comparison::kLess},
       {"<=", Comparison::kLessEqual},
       {">", Comparison::kGreater},
       {">=", Comparison::kGreaterEqual}}};
  for (const auto& [text, symbol] : kSymbols) {
    if (take(text)) return op = symbol, true;
  }
  if (take_word("in")) return op = Comparison::kIn, true;
  if (take_word("is")) return op = take_word("not") ? Comparison::kIsNot : Comparison::kIs, true;
  if (next_is_word("not") && tokens_[at_ + 1].kind == TokenKind::kName &&
      tokens_[at_ + 1].text == "in") {
    at_ += 2;
    return op = Comparison::kNotIn, true;
  }
  return false;
}

ExpressionPtr FragmentParser::comparison() {
  ExpressionPtr first = binary(0);
  Comparison op;
  if (!take_comparison(op)) return first;
  Compare node{nullptr, {}};
  int depth = depth_of(first);
  do {
    node.rest.emplace_back(op, binary(0));
    depth = std::max(depth, depth_of(node.rest.back().second));
  } while (take_comparison(op));
  if (node.rest.size() == 1 &&
      (op_of(node) == Comparison::kIn || op_of(node) == Comparison::kNotIn)) {
    if (const auto* display = std::get_if<Display>(&node.rest.front().second->node)) {
      std::vector<Value> constants;
      for (const ExpressionPtr& item : display->items) {
        if (const auto* value = std::get_if<Constant>(&item->node))
          constants.push_back(value->value);
      }
      if (constants.size() == display->items.size()) {
        return make(
            InConstants{std::move(first), op_of(node) == Comparison::kNotIn, std::move(constants)},
            depth);
      }
    }
  }
  node.first = std::move(first);
  return make(std::move(node), depth);
}

ExpressionPtr FragmentParser::binary(int level) {
  static constexpr std::array<Level, 8> kLevels = {{{"|", BinaryOperator::kOr, 0},
                                                    {"^", BinaryOperator::kXor, 1},
                                                    {"&", BinaryOperator::kAnd, 2},
                                                    {"+", BinaryOperator::kAdd, 3},
                                                    {"-", BinaryOperator::kSubtract, 3},
                                                    {"*", BinaryOperator::kMultiply, 4},
                                                    {"/", BinaryOperator::kDivide, 4},
                                                    {"%", BinaryOperator::kModulo, 4}}};
  constexpr int kTightest = 4;
  ExpressionPtr left = level == kTightest ? unary() : binary(level + 1);
  for (;;) {
    const auto* found = std::find_if(kLevels.begin(), kLevels.end(), [&](const Level& entry) {
      return entry.level == level && next_is(entry.text);
    });
    BinaryOperator op = BinaryOperator::kFloorDivide;
    if (found != kLevels.end()) {
      op = found->op;
    } else if (level != kTightest || !next_is("//")) {
      if (next_is("<<") || next_is(">>") || next_is("@"))
        fail_here(fmt::format("'{}' is not supported", next().text));
      return left;
    }
    ++at_;
    ExpressionPtr right = level == kTightest ? unary() : binary(level + 1);
    const int depth = std::max(depth_of(left), depth_of(right));
    left = make(Binary{op, std::move(left), std::move(right)}, depth);
  }
}

ExpressionPtr FragmentParser::unary() {
  if (next_is("~")) fail_here("'~' is not supported");
  if (!next_is("-") && !next_is("+")) return power();
  const Nesting nesting(*this);
  const UnaryOperator op = next_is("-") ? UnaryOperator::kMinus : UnaryOperator::kPlus;
  ++at_;
  ExpressionPtr operand = unary();
  if (const auto* number = std::get_if<Constant>(&operand->node);
      number != nullptr && op == UnaryOperator::kMinus) {
    if (number->value.kind() == Kind::kInt)
      return constant(Value::of_int(-number->value.integer()));
    if (number->value.kind() == Kind::kFloat)
      return constant(Value::of_float(-number->value.real()));
  }
  const int depth = depth_of(operand);
  return make(Unary{op, std::move(operand)}, depth);
}

ExpressionPtr FragmentParser::power() {
  ExpressionPtr base = postfix();
  if (!take("**")) return base;
  const Nesting nesting(*this);
  ExpressionPtr exponent = unary();
  const int depth = std::max(depth_of(base), depth_of(exponent));
  return make(Binary{BinaryOperator::kPower, std::move(base), std::move(exponent)}, depth);
}

}  // namespace strata::compliance
