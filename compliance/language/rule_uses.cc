#include "compliance/language/rule_uses.h"

#include <string_view>

namespace strata::compliance {
namespace {

class Finder {
 public:
  explicit Finder(RuleUses& uses) : uses_(uses) {}

  void visit(const Expression& expression) {
    std::visit([this](const auto& node) { visit(node); }, expression.node);
  }
  void visit(const Block& block) {
    for (const Statement& statement : block) {
      std::visit([this](const auto& node) { visit(node); }, statement.node);
    }
  }

 private:
  static bool is_host(const Expression& expression, HostVariable::Which which) {
    const auto* variable = std::get_if<HostVariable>(&expression.node);
    return variable != nullptr && variable->which == which;
  }

  void visit(const Constant&) {}
  void visit(const LocalVariable&) {}
  void visit(const HostVariable& node) {
    uses_.line |= node.which == HostVariable::kLine;
    uses_.whole |= node.which == HostVariable::kLine || node.which == HostVariable::kValue;
  }
  void visit(const Subscript& node) {
    const auto* key = std::get_if<Constant>(&node.key->node);
    if (is_host(*node.object, HostVariable::kValue) && key != nullptr &&
        key->value.kind() == Kind::kStr && key->value.text() == "value") {
      uses_.value = true;
      return;
    }
    visit(*node.object);
    visit(*node.key);
  }
  void visit(const Attribute& node) {
    if (is_host(*node.object, HostVariable::kLine) && node.name != "value") {
      uses_.line = true;
      return;
    }
    visit(*node.object);
  }
  void visit(const Display& node) { visit_all(node.items); }
  void visit(const DictDisplay& node) {
    for (const auto& [key, value] : node.items) {
      visit(*key);
      visit(*value);
    }
  }
  void visit(const Call& node) {
    visit(*node.callee);
    visit_all(node.arguments);
  }
  void visit(const Unary& node) { visit(*node.operand); }
  void visit(const Binary& node) {
    visit(*node.left);
    visit(*node.right);
  }
  void visit(const Logical& node) { visit_all(node.operands); }
  void visit(const Compare& node) {
    visit(*node.first);
    for (const auto& [comparison, operand] : node.rest) visit(*operand);
  }
  void visit(const InConstants& node) { visit(*node.operand); }
  void visit(const Conditional& node) {
    visit(*node.condition);
    visit(*node.if_true);
    visit(*node.if_false);
  }

  void visit(const ExpressionStatement& statement) { visit(*statement.expression); }
  void visit(const Assignment& statement) {
    visit(*statement.target);
    visit(*statement.value);
  }
  void visit(const If& statement) {
    for (const auto& [condition, block] : statement.branches) {
      visit(*condition);
      visit(block);
    }
    visit(statement.otherwise);
  }
  void visit(const For& statement) {
    visit(*statement.iterable);
    visit(statement.body);
  }
  void visit_all(const std::vector<ExpressionPtr>& expressions) {
    for (const ExpressionPtr& expression : expressions) visit(*expression);
  }

  RuleUses& uses_;
};

}  // namespace

void add_uses(const Fragment& fragment, RuleUses& uses) {
  Finder finder(uses);
  if (fragment.expression) finder.visit(*fragment.expression);
  finder.visit(fragment.statements);
}

}  // namespace strata::compliance
