// Makes the tree of one fragment of rule code by recursive descent.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compliance/language/parser/rule_lexer.h"
#include "compliance/language/parser/rule_parser.h"
#include "compliance/language/parser/rule_tree.h"

namespace strata::compliance {

inline int depth_of(const ExpressionPtr& expression) { return expression->depth; }

class FragmentParser {
 public:
  FragmentParser(std::string_view code, FragmentPlace place, std::shared_ptr<Locals> locals);

  // Each is called once. Throws SyntaxFault if the code is not in the language.
  Fragment expression_fragment();
  Fragment statements_fragment();

 private:
  // Tokens: fragment_parser.cc.
  const Token& next() const { return tokens_[at_]; }
  bool next_is(std::string_view op) const {
    return next().kind == TokenKind::kOperator && next().text == op;
  }
  bool next_is_word(std::string_view word) const {
    return next().kind == TokenKind::kName && next().text == word;
  }
  bool take(std::string_view op) { return next_is(op) && ++at_ > 0; }
  bool take_word(std::string_view word) { return next_is_word(word) && ++at_ > 0; }
  void expect(std::string_view op);
  std::string expect_name();
  [[noreturn]] void fail_here(std::string reason) const { fail_at(next(), std::move(reason)); }
  [[noreturn]] static void fail_at(const Token& token, std::string reason);
  static std::string describe(const Token& token);
  static bool is_keyword(std::string_view name);

  // Names that the fragment assigns to: fragment_parser.cc.
  void find_assigned_names();
  size_t slot_of(const std::string& name);

  // Statements: statements.cc.
  void statement(Block& block);
  void simple_statement(Block& block);
  static void check_target(const Expression& target, const Token& at);
  void import_statement(Block& block);
  Block suite();
  void statement_line(Block& block);
  void if_statement(Block& block);
  void for_statement(Block& block);

  // Operators, those that bind loosest first: operators.cc.
  ExpressionPtr expression();
  ExpressionPtr or_test();
  ExpressionPtr and_test();
  ExpressionPtr logical(std::string_view word, bool is_and);
  ExpressionPtr not_test();
  bool take_comparison(Comparison& op);
  ExpressionPtr comparison();
  ExpressionPtr binary(int level);
  ExpressionPtr unary();
  ExpressionPtr power();

  // Operands: operands.cc.
  ExpressionPtr postfix();
  ExpressionPtr attribute(ExpressionPtr object, std::string name, const Token& at);
  ExpressionPtr call(ExpressionPtr callee);
  void refuse_comprehension() const;
  ExpressionPtr atom();
  static Value integer_constant(const Token& token);
  ExpressionPtr name();
  ExpressionPtr parenthesized();
  ExpressionPtr list_display();
  ExpressionPtr display(Kind kind, ExpressionPtr first, std::string_view close);
  ExpressionPtr brace_display();

  template <typename Node>
  ExpressionPtr make(Node node, int child_depth = 0) const {
    auto expression = std::make_unique<Expression>();
    expression->node = std::move(node);
    expression->depth = child_depth + 1;
    if (expression->depth > kMaxNesting) fail_here("the expression is nested too deeply");
    return expression;
  }
  ExpressionPtr constant(Value value) const { return make(Constant{std::move(value)}); }
  Value string_constant(std::string text);

  static constexpr int kMaxNesting = 120;
  // Bounds recursion of the parser itself.
  struct Nesting {
    explicit Nesting(FragmentParser& owner) : parser(owner) {
      if (parser.nesting_ >= kMaxNesting) parser.fail_here("the code is nested too deeply");
      ++parser.nesting_;
    }
    ~Nesting() { --parser.nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    FragmentParser& parser;
  };

  FragmentPlace place_;
  Fragment fragment_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int nesting_ = 0;
};

}  // namespace strata::compliance
