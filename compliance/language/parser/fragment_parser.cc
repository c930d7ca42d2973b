#include "compliance/language/parser/fragment_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text/trim.h"

namespace strata::compliance {

FragmentParser::FragmentParser(std::string_view code, FragmentPlace place,
                               std::shared_ptr<Locals> locals)
    : place_(place) {
  fragment_.source = std::string(trimmed(code));
  fragment_.locals = std::move(locals);
  tokens_ = tokenize(fragment_.source);
  find_assigned_names();
}

Fragment FragmentParser::expression_fragment() {
  if (next().kind == TokenKind::kNewline) fail_here("the code is empty");
  fragment_.expression = expression();
  if (next().kind != TokenKind::kNewline) fail_here(fmt::format("unexpected {}", describe(next())));
  ++at_;
  if (next().kind != TokenKind::kEnd) fail_here("an expression must stand on one line");
  return std::move(fragment_);
}

Fragment FragmentParser::statements_fragment() {
  while (next().kind != TokenKind::kEnd) {
    if (next().kind == TokenKind::kNewline) {
      ++at_;
    } else {
      statement(fragment_.statements);
    }
  }
  return std::move(fragment_);
}

void FragmentParser::expect(std::string_view op) {
  if (!take(op)) fail_here(fmt::format("'{}' was expected, found {}", op, describe(next())));
}

std::string FragmentParser::expect_name() {
  if (next().kind != TokenKind::kName || is_keyword(next().text)) {
    fail_here(fmt::format("a name was expected, found {}", describe(next())));
  }
  return tokens_[at_++].text;
}

void FragmentParser::fail_at(const Token& token, std::string reason) {
  throw SyntaxFault{token.line, token.column, std::move(reason)};
}

std::string FragmentParser::describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::kNewline:
      return "the end of the line";
    case TokenKind::kIndent:
      return "indentation";
    case TokenKind::kDedent:
    case TokenKind::kEnd:
      return "the end of the block";
    case TokenKind::kString:
      return fmt::format("the string '{}'", token.text);
    default:
      return fmt::format("'{}'", token.text);
  }
}

bool FragmentParser::is_keyword(std::string_view name) {
  static constexpr std::array<std::string_view, 35> kKeywords = {
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "for",      "finally",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
  return std::find(kKeywords.begin(), kKeywords.end(), name) != kKeywords.end();
}

// A name assigned anywhere in the fragment is a local variable of it, as in a Python function.
void FragmentParser::find_assigned_names() {
  for (size_t i = 0; i + 1 < tokens_.size(); ++i) {
    const Token& token = tokens_[i];
    const Token& after = tokens_[i + 1];
    if (token.kind != TokenKind::kName || is_keyword(token.text)) continue;
    const bool starts = i == 0 || tokens_[i - 1].kind == TokenKind::kNewline ||
                        tokens_[i - 1].kind == TokenKind::kIndent ||
                        tokens_[i - 1].kind == TokenKind::kDedent ||
                        (tokens_[i - 1].kind == TokenKind::kOperator &&
                         (tokens_[i - 1].text == ";" || tokens_[i - 1].text == ":"));
    const bool assigned =
        starts && after.kind == TokenKind::kOperator && after.text.back() == '=' &&
        (after.text.size() == 1 ||
         std::string_view("+-*/%|&^").find(after.text[0]) != std::string_view::npos);
    const bool looped =
        i > 0 && tokens_[i - 1].kind == TokenKind::kName && tokens_[i - 1].text == "for";
    const bool imported = i > 0 && tokens_[i - 1].kind == TokenKind::kName &&
                          tokens_[i - 1].text == "import" &&
                          token.text != "math";  // a module that is there already
    if (assigned || looped || imported) slot_of(token.text);
  }
}

size_t FragmentParser::slot_of(const std::string& name) {
  constexpr size_t kMaxLocals = 1000;
  auto& names = fragment_.locals->names;
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  if (names.size() == kMaxLocals) fail_here("the code assigns to too many names");
  names.push_back(name);
  return names.size() - 1;
}

Value FragmentParser::string_constant(std::string text) {
  fragment_.strings.emplace_back(make_constant_string(std::move(text)), free_constant_string);
  return Value::of_object(fragment_.strings.back().get());
}

}  // namespace strata::compliance
