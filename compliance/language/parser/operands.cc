#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>

#include "compliance/language/builtins/rule_builtins.h"
#include "compliance/language/parser/fragment_parser.h"

namespace strata::compliance {

ExpressionPtr FragmentParser::postfix() {
  ExpressionPtr value = atom();
  for (;;) {
    if (take("[")) {
      if (next_is(":")) fail_here("slices are not supported");
      ExpressionPtr key = expression();
      if (next_is(":")) fail_here("slices are not supported");
      if (next_is(",")) fail_here("tuple subscripts are not supported");
      expect("]");
      const int depth = std::max(depth_of(value), depth_of(key));
      value = make(Subscript{std::move(value), std::move(key)}, depth);
    } else if (take(".")) {
      const Token& name_token = next();
      std::string name = expect_name();
      value = attribute(std::move(value), std::move(name), name_token);
    } else if (take("(")) {
      value = call(std::move(value));
    } else {
      return value;
    }
  }
}

ExpressionPtr FragmentParser::attribute(ExpressionPtr object, std::string name, const Token& at) {
  if (const auto* module = std::get_if<Constant>(&object->node);
      module != nullptr && module->value.kind() == Kind::kModule) {
    const auto member = find_math(name);
    if (!member) fail_at(at, fmt::format("'math.{}' is not supported", name));
    return constant(*member);
  }
  static const std::set<std::string_view> kKnown = {
      "timestamp", "key",        "value",    "full_string", "lineno", "get",    "update",
      "keys",      "values",     "items",    "append",      "extend", "format", "lower",
      "upper",     "startswith", "endswith", "strip",       "count"};
  if (kKnown.count(name) == 0) fail_at(at, fmt::format("attribute '{}' is not supported", name));
  const int depth = depth_of(object);
  return make(Attribute{std::move(object), std::move(name)}, depth);
}

ExpressionPtr FragmentParser::call(ExpressionPtr callee) {
  Call node{std::move(callee), {}};
  int depth = depth_of(node.callee);
  while (!take(")")) {
    if (next_is("*") || next_is("**")) fail_here("unpacking is not supported");
    node.arguments.push_back(expression());
    depth = std::max(depth, depth_of(node.arguments.back()));
    if (next_is("=")) fail_here("keyword arguments are not supported");
    refuse_comprehension();
    if (!next_is(")")) expect(",");
  }
  return make(std::move(node), depth);
}

void FragmentParser::refuse_comprehension() const {
  if (next_is_word("for")) fail_here("comprehensions are not supported");
}

ExpressionPtr FragmentParser::atom() {
  const Token& token = next();
  switch (token.kind) {
    case TokenKind::kInteger:
      ++at_;
      return constant(integer_constant(token));
    case TokenKind::kReal: {
      ++at_;
      return constant(Value::of_float(std::strtod(token.text.c_str(), nullptr)));
    }
    case TokenKind::kString: {
      std::string text;
      while (next().kind == TokenKind::kString) text += tokens_[at_++].text;
      return constant(string_constant(std::move(text)));
    }
    case TokenKind::kName:
      return name();
    case TokenKind::kOperator:
      if (token.text == "(") return parenthesized();
      if (token.text == "[") return list_display();
      if (token.text == "{") return brace_display();
      break;
    default:
      break;
  }
  fail_here(fmt::format("a value was expected, found {}", describe(token)));
}

Value FragmentParser::integer_constant(const Token& token) {
  int64_t number = 0;
  const char* end = token.text.data() + token.text.size();
  if (token.text.size() > 1 && token.text[0] == '0') fail_at(token, "numbers may not start with 0");
  if (std::from_chars(token.text.data(), end, number).ec != std::errc()) {
    fail_at(token, "integers beyond 64 bits are not supported");
  }
  return Value::of_int(number);
}

ExpressionPtr FragmentParser::name() {
  const Token& token = next();
  if (take_word("True")) return constant(Value::of_bool(true));
  if (take_word("False")) return constant(Value::of_bool(false));
  if (take_word("None")) return constant(Value());
  const std::string text = expect_name();
  const auto& names = fragment_.locals->names;
  if (const auto found = std::find(names.begin(), names.end(), text); found != names.end()) {
    return make(LocalVariable{static_cast<size_t>(found - names.begin()), text});
  }
  if (text == "s") return make(HostVariable{HostVariable::kState});
  if (place_ == FragmentPlace::kLine && text == "v")
    return make(HostVariable{HostVariable::kValue});
  if (place_ == FragmentPlace::kLine && text == "ll")
    return make(HostVariable{HostVariable::kLine});
  if (place_ == FragmentPlace::kBegin && text == "loglines")
    return make(HostVariable{HostVariable::kEvents});
  if (const auto builtin = find_builtin(text)) return constant(*builtin);
  fail_at(token, fmt::format("the name '{}' is not available here", text));
}

ExpressionPtr FragmentParser::parenthesized() {
  ++at_;
  if (take(")")) return make(Display{Kind::kTuple, {}});
  ExpressionPtr first = expression();
  refuse_comprehension();
  if (take(")")) return first;
  return display(Kind::kTuple, std::move(first), ")");
}

ExpressionPtr FragmentParser::list_display() {
  ++at_;
  if (take("]")) return make(Display{Kind::kList, {}});
  ExpressionPtr first = expression();
  return display(Kind::kList, std::move(first), "]");
}

ExpressionPtr FragmentParser::display(Kind kind, ExpressionPtr first, std::string_view close) {
  Display node{kind, {}};
  int depth = depth_of(first);
  node.items.push_back(std::move(first));
  refuse_comprehension();
  while (!take(close)) {
    expect(",");
    if (take(close)) break;
    node.items.push_back(expression());
    depth = std::max(depth, depth_of(node.items.back()));
  }
  return make(std::move(node), depth);
}

ExpressionPtr FragmentParser::brace_display() {
  ++at_;
  if (take("}")) return make(DictDisplay{});
  if (next_is("**") || next_is("*")) fail_here("unpacking is not supported");
  ExpressionPtr first = expression();
  if (!take(":")) return display(Kind::kSet, std::move(first), "}");
  DictDisplay node;
  int depth = depth_of(first);
  ExpressionPtr value = expression();
  refuse_comprehension();
  depth = std::max(depth, depth_of(value));
  node.items.emplace_back(std::move(first), std::move(value));
  while (!take("}")) {
    expect(",");
    if (take("}")) break;
    ExpressionPtr key = expression();
    expect(":");
    value = expression();
    depth = std::max({depth, depth_of(key), depth_of(value)});
    node.items.emplace_back(std::move(key), std::move(value));
  }
  return make(std::move(node), depth);
}

}  // namespace strata::compliance
