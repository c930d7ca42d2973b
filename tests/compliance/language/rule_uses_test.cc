#include "compliance/language/rule_uses.h"

#include <gtest/gtest.h>

#include "compliance/language/parser/rule_parser.h"

namespace strata::compliance {
namespace {

// Returns a letter for everything that the code uses: ll, v['value'], whole.
std::string uses(const Fragment& fragment) {
  RuleUses uses;
  add_uses(fragment, uses);
  return std::string(uses.line ? "l" : "") + (uses.value ? "v" : "") + (uses.whole ? "w" : "");
}
std::string expression(std::string_view code) {
  return uses(compile_expression(code, FragmentPlace::kLine, std::make_shared<Locals>()));
}
std::string statements(std::string_view code) {
  return uses(compile_statements(code, FragmentPlace::kLine, std::make_shared<Locals>()));
}

TEST(RuleUses, UsesOfExpressionsAreFound) {
  EXPECT_EQ(expression("s['run_started']"), "");
  EXPECT_EQ(expression("v['value'] != ''"), "v");
  EXPECT_EQ(expression("v['value']['BBOX'] >= 0.377 and v['value']['BBOX'] < 1.0"), "v");
  EXPECT_EQ(expression("1 < 2 < v['value']"), "v");
  EXPECT_EQ(expression("-v['value'] in [1, 2]"), "v");
  EXPECT_EQ(expression("'epoch_num' in v['metadata']"), "w");
  EXPECT_EQ(expression("'value' in v"), "w");
  EXPECT_EQ(expression("v[s['key']]"), "w");
  EXPECT_EQ(expression("s[v['value']]"), "v");
  EXPECT_EQ(expression("{'a': v}"), "w");
  EXPECT_EQ(expression("[1, v['value']]"), "v");
  EXPECT_EQ(expression("len(str(v))"), "w");
  EXPECT_EQ(expression("1 if v['value'] else v"), "vw");
  EXPECT_EQ(expression("ll.timestamp - s['start'] < 5"), "l");
  EXPECT_EQ(expression("ll.value"), "lw");
  EXPECT_EQ(expression("str(ll)"), "lw");
}

TEST(RuleUses, UsesInAllBranchesOfStatementsAreFound) {
  EXPECT_EQ(statements("s['a'] = v['value']"), "v");
  EXPECT_EQ(statements("s['a'] += ll.timestamp"), "l");
  EXPECT_EQ(statements("s.update(v)"), "w");
  EXPECT_EQ(statements("v['value'] = 1"), "v");
  EXPECT_EQ(statements("v['metadata'] = 1"), "w");
  EXPECT_EQ(statements("ll.value = 1"), "lw");
  EXPECT_EQ(statements("if s:\n  x = 1\nelif v['value']:\n  x = 2\nelse:\n  x = ll.key\n"), "lv");
  EXPECT_EQ(statements("for x in v['value']:\n  s['a'] = v\n"), "vw");
}

}  // namespace
}  // namespace strata::compliance
