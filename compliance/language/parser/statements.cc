#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "compliance/language/builtins/rule_builtins.h"
#include "compliance/language/parser/fragment_parser.h"

namespace strata::compliance {
namespace {

bool is_expression_keyword(std::string_view word) {
  return word == "True" || word == "False" || word == "None" || word == "not" || word == "lambda";
}

}  // namespace

void FragmentParser::statement(Block& block) {
  if (next_is_word("if")) return if_statement(block);
  if (next_is_word("for")) return for_statement(block);
  simple_statement(block);
  while (take(";")) {
    if (next().kind == TokenKind::kNewline) break;
    simple_statement(block);
  }
  if (next().kind != TokenKind::kNewline) fail_here(fmt::format("unexpected {}", describe(next())));
  ++at_;
}

void FragmentParser::simple_statement(Block& block) {
  if (take_word("pass")) return;
  if (next_is_word("import") || next_is_word("from")) return import_statement(block);
  if (next().kind == TokenKind::kName && is_keyword(next().text) &&
      !is_expression_keyword(next().text)) {
    fail_here(fmt::format("'{}' is not supported", next().text));
  }
  const Token& start = next();
  ExpressionPtr target = expression();
  if (take("=")) {
    check_target(*target, start);
    ExpressionPtr value = expression();
    if (next_is("=")) fail_here("chained assignment is not supported");
    block.push_back({Assignment{std::move(target), std::move(value)}});
    return;
  }
  static constexpr std::array<std::pair<std::string_view, BinaryOperator>, 10> kAugmented = {
      {{"+=", BinaryOperator::kAdd},
       {"-=", BinaryOperator::kSubtract},
       {"*=", BinaryOperator::kMultiply},
       {"/=", BinaryOperator::kDivide},
       {"//=", BinaryOperator::kFloorDivide},
       {"%=", BinaryOperator::kModulo},
       {"**=", BinaryOperator::kPower},
       {"|=", BinaryOperator::kOr},
       {"&=", BinaryOperator::kAnd},
       {"^=", BinaryOperator::kXor}}};
  for (const auto& [text, op] : kAugmented) {
    if (!take(text)) continue;
    check_target(*target, start);
    ExpressionPtr value = expression();
    block.push_back({Assignment{std::move(target), std::move(value), true, op}});
    return;
  }
  block.push_back({ExpressionStatement{std::move(target)}});
}

void FragmentParser::check_target(const Expression& target, const Token& at) {
  if (std::holds_alternative<LocalVariable>(target.node) ||
      std::holds_alternative<Subscript>(target.node) ||
      std::holds_alternative<Attribute>(target.node)) {
    return;
  }
  fail_at(at, "assignment to this expression is not possible");
}

void FragmentParser::import_statement(Block& block) {
  const Token& start = next();
  std::string module;
  std::string name;
  std::optional<Value> value;
  if (take_word("from")) {
    module = expect_name();
    if (!take_word("import")) fail_here("'import' was expected");
    name = expect_name();
    value = find_import(module, name);
  } else {
    ++at_;
    name = module = expect_name();
    if (name == "math") return;
  }
  if (next_is_word("as") || next_is(",")) fail_here("this form of import is not supported");
  if (!value)
    fail_at(start, fmt::format("importing '{}' from '{}' is not supported", name, module));
  block.push_back({Assignment{make(LocalVariable{slot_of(name), name}), constant(*value)}});
}

Block FragmentParser::suite() {
  const Nesting nesting(*this);
  expect(":");
  Block block;
  if (next().kind != TokenKind::kNewline) {
    statement_line(block);
    return block;
  }
  ++at_;
  if (next().kind != TokenKind::kIndent) fail_here("an indented block was expected");
  ++at_;
  while (next().kind != TokenKind::kDedent && next().kind != TokenKind::kEnd) statement(block);
  if (next().kind == TokenKind::kDedent) ++at_;
  return block;
}

// The statements after a colon on the same line.
void FragmentParser::statement_line(Block& block) {
  if (next_is_word("if") || next_is_word("for")) fail_here("a block may not start on this line");
  statement(block);
}

void FragmentParser::if_statement(Block& block) {
  If statement;
  do {
    ++at_;  // `if` or `elif`
    ExpressionPtr condition = expression();
    statement.branches.emplace_back(std::move(condition), suite());
  } while (next_is_word("elif"));
  if (take_word("else")) statement.otherwise = suite();
  block.push_back({std::move(statement)});
}

void FragmentParser::for_statement(Block& block) {
  ++at_;
  const std::string name = expect_name();
  if (!take_word("in")) fail_here("'in' was expected");
  ExpressionPtr iterable = expression();
  For statement{slot_of(name), std::move(iterable), suite()};
  if (next_is_word("else")) fail_here("'else' after a loop is not supported");
  block.push_back({std::move(statement)});
}

}  // namespace strata::compliance
