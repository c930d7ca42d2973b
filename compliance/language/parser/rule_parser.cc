#include "compliance/language/rule_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <set>

#include "compliance/language/rule_builtins.h"

namespace strata::compliance {
namespace {

constexpr int kMaxNesting = 120;
constexpr size_t kMaxLocals = 1000;

std::string_view strip(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

int depth_of(const ExpressionPtr& expression) { return expression->depth; }

class Parser {
 public:
  Parser(std::string_view code, FragmentPlace place, std::shared_ptr<Locals> locals)
      : place_(place) {
    fragment_.source = std::string(strip(code));
    fragment_.locals = std::move(locals);
    tokens_ = tokenize(fragment_.source);
    find_assigned_names();
  }

  Fragment expression_fragment() {
    if (next().kind == TokenKind::kNewline) fail_here("the code is empty");
    fragment_.expression = expression();
    if (next().kind != TokenKind::kNewline)
      fail_here(fmt::format("unexpected {}", describe(next())));
    ++at_;
    if (next().kind != TokenKind::kEnd) fail_here("an expression must stand on one line");
    return std::move(fragment_);
  }

  Fragment statements_fragment() {
    while (next().kind != TokenKind::kEnd) {
      if (next().kind == TokenKind::kNewline) {
        ++at_;
      } else {
        statement(fragment_.statements);
      }
    }
    return std::move(fragment_);
  }

 private:
  const Token& next() const { return tokens_[at_]; }
  bool next_is(std::string_view op) const {
    return next().kind == TokenKind::kOperator && next().text == op;
  }
  bool next_is_word(std::string_view word) const {
    return next().kind == TokenKind::kName && next().text == word;
  }
  bool take(std::string_view op) { return next_is(op) && ++at_ > 0; }
  bool take_word(std::string_view word) { return next_is_word(word) && ++at_ > 0; }
  void expect(std::string_view op) {
    if (!take(op)) fail_here(fmt::format("'{}' was expected, found {}", op, describe(next())));
  }
  std::string expect_name() {
    if (next().kind != TokenKind::kName || is_keyword(next().text)) {
      fail_here(fmt::format("a name was expected, found {}", describe(next())));
    }
    return tokens_[at_++].text;
  }
  [[noreturn]] void fail_here(std::string reason) const { fail_at(next(), std::move(reason)); }
  [[noreturn]] static void fail_at(const Token& token, std::string reason) {
    throw SyntaxFault{token.line, token.column, std::move(reason)};
  }
  static std::string describe(const Token& token) {
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
  static bool is_keyword(std::string_view name) {
    static constexpr std::array<std::string_view, 35> kKeywords = {
        "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
        "class", "continue", "def",   "del",    "elif", "else",   "except", "for",      "finally",
        "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
        "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
    return std::find(kKeywords.begin(), kKeywords.end(), name) != kKeywords.end();
  }

  // A name assigned anywhere in the fragment is a local variable of it, as in a Python function.
  void find_assigned_names() {
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

  size_t slot_of(const std::string& name) {
    auto& names = fragment_.locals->names;
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) return static_cast<size_t>(found - names.begin());
    if (names.size() == kMaxLocals) fail_here("too many names are assigned to");
    names.push_back(name);
    return names.size() - 1;
  }

  template <typename Node>
  ExpressionPtr make(Node node, int child_depth = 0) const {
    auto expression = std::make_unique<Expression>();
    expression->node = std::move(node);
    expression->depth = child_depth + 1;
    if (expression->depth > kMaxNesting) fail_here("the expression is nested too deeply");
    return expression;
  }
  ExpressionPtr constant(Value value) const { return make(Constant{std::move(value)}); }
  Value string_constant(std::string text) {
    fragment_.strings.emplace_back(make_constant_string(std::move(text)), free_constant_string);
    return Value::of_object(fragment_.strings.back().get());
  }

  // Bounds recursion of the parser itself.
  struct Nesting {
    explicit Nesting(Parser& owner) : parser(owner) {
      if (parser.nesting_ >= kMaxNesting) parser.fail_here("the code is nested too deeply");
      ++parser.nesting_;
    }
    ~Nesting() { --parser.nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    Parser& parser;
  };

  // --- statements ---

  void statement(Block& block) {
    if (next_is_word("if")) return if_statement(block);
    if (next_is_word("for")) return for_statement(block);
    simple_statement(block);
    while (take(";")) {
      if (next().kind == TokenKind::kNewline) break;
      simple_statement(block);
    }
    if (next().kind != TokenKind::kNewline)
      fail_here(fmt::format("unexpected {}", describe(next())));
    ++at_;
  }

  void simple_statement(Block& block) {
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

  static bool is_expression_keyword(std::string_view word) {
    return word == "True" || word == "False" || word == "None" || word == "not" || word == "lambda";
  }

  static void check_target(const Expression& target, const Token& at) {
    if (std::holds_alternative<LocalVariable>(target.node) ||
        std::holds_alternative<Subscript>(target.node) ||
        std::holds_alternative<Attribute>(target.node)) {
      return;
    }
    fail_at(at, "this cannot be assigned to");
  }

  void import_statement(Block& block) {
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

  Block suite() {
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
  void statement_line(Block& block) {
    if (next_is_word("if") || next_is_word("for")) fail_here("a block may not start on this line");
    statement(block);
  }

  void if_statement(Block& block) {
    If statement;
    do {
      ++at_;  // `if` or `elif`
      ExpressionPtr condition = expression();
      statement.branches.emplace_back(std::move(condition), suite());
    } while (next_is_word("elif"));
    if (take_word("else")) statement.otherwise = suite();
    block.push_back({std::move(statement)});
  }

  void for_statement(Block& block) {
    ++at_;
    const std::string name = expect_name();
    if (!take_word("in")) fail_here("'in' was expected");
    ExpressionPtr iterable = expression();
    For statement{slot_of(name), std::move(iterable), suite()};
    if (next_is_word("else")) fail_here("'else' after a loop is not supported");
    block.push_back({std::move(statement)});
  }

  // --- expressions, loosest first ---

  ExpressionPtr expression() {
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
      value =
          make(Conditional{std::move(condition), std::move(value), std::move(otherwise)}, depth);
    }
    if (next_is(":=")) fail_here("':=' is not supported");
    return value;
  }

  ExpressionPtr or_test() { return logical("or", false); }
  ExpressionPtr and_test() { return logical("and", true); }

  ExpressionPtr logical(std::string_view word, bool is_and) {
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

  ExpressionPtr not_test() {
    if (!next_is_word("not")) return comparison();
    const Nesting nesting(*this);
    ++at_;
    ExpressionPtr operand = not_test();
    const int depth = depth_of(operand);
    return make(Unary{UnaryOperator::kNot, std::move(operand)}, depth);
  }

  bool take_comparison(Comparison& op) {
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

  ExpressionPtr comparison() {
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
          return make(InConstants{std::move(first), op_of(node) == Comparison::kNotIn,
                                  std::move(constants)},
                      depth);
        }
      }
    }
    node.first = std::move(first);
    return make(std::move(node), depth);
  }
  static Comparison op_of(const Compare& node) { return node.rest.front().first; }

  struct Level {
    std::string_view text;
    BinaryOperator op;
    int level;
  };

  ExpressionPtr binary(int level) {
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

  ExpressionPtr unary() {
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

  ExpressionPtr power() {
    ExpressionPtr base = postfix();
    if (!take("**")) return base;
    const Nesting nesting(*this);
    ExpressionPtr exponent = unary();
    const int depth = std::max(depth_of(base), depth_of(exponent));
    return make(Binary{BinaryOperator::kPower, std::move(base), std::move(exponent)}, depth);
  }

  ExpressionPtr postfix() {
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

  ExpressionPtr attribute(ExpressionPtr object, std::string name, const Token& at) {
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

  ExpressionPtr call(ExpressionPtr callee) {
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

  void refuse_comprehension() const {
    if (next_is_word("for")) fail_here("comprehensions are not supported");
  }

  ExpressionPtr atom() {
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

  static Value integer_constant(const Token& token) {
    int64_t number = 0;
    const char* end = token.text.data() + token.text.size();
    if (token.text.size() > 1 && token.text[0] == '0')
      fail_at(token, "numbers may not start with 0");
    if (std::from_chars(token.text.data(), end, number).ec != std::errc()) {
      fail_at(token, "integers beyond 64 bits are not supported");
    }
    return Value::of_int(number);
  }

  ExpressionPtr name() {
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
    fail_at(token, fmt::format("'{}' is not a name that can be used here", text));
  }

  ExpressionPtr parenthesized() {
    ++at_;
    if (take(")")) return make(Display{Kind::kTuple, {}});
    ExpressionPtr first = expression();
    refuse_comprehension();
    if (take(")")) return first;
    return display(Kind::kTuple, std::move(first), ")");
  }

  ExpressionPtr list_display() {
    ++at_;
    if (take("]")) return make(Display{Kind::kList, {}});
    ExpressionPtr first = expression();
    return display(Kind::kList, std::move(first), "]");
  }

  ExpressionPtr display(Kind kind, ExpressionPtr first, std::string_view close) {
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

  ExpressionPtr brace_display() {
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

  FragmentPlace place_;
  Fragment fragment_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int nesting_ = 0;
};

}  // namespace

Fragment compile_expression(std::string_view code, FragmentPlace place,
                            std::shared_ptr<Locals> locals) {
  return Parser(code, place, std::move(locals)).expression_fragment();
}

Fragment compile_statements(std::string_view code, FragmentPlace place,
                            std::shared_ptr<Locals> locals) {
  return Parser(code, place, std::move(locals)).statements_fragment();
}

}  // namespace strata::compliance
