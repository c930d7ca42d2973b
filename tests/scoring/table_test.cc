#include "scoring/table.h"

#include <gtest/gtest.h>

namespace strata::scoring {
namespace {

TEST(Table, CellsThatSpreadsheetsTakeForFormulasAreQuoted) {
  struct Case {
    const char *cell, *own, *official;
  };
  const Case cases[] = {{"", "", ""},
                        {"Acme", "Acme", "Acme"},
                        {"a,b", "\"a,b\"", "\"a,b\""},
                        {"say \"x\"", "\"say \"\"x\"\"\"", "\"say \"\"x\"\"\""},
                        {"=1+1", "\"'=1+1\"", "\"=1+1\""},
                        {"@SUM(A1)", "\"'@SUM(A1)\"", "\"@SUM(A1)\""},
                        {"+cmd|' /C calc'!A0", "\"'+cmd|' /C calc'!A0\"", "\"+cmd|' /C calc'!A0\""},
                        {"-2+3", "\"'-2+3\"", "\"-2+3\""},
                        {"\tx", "\"'\tx\"", "\"\tx\""},
                        {"\uff1d1", "\"'\uff1d1\"", "\"\uff1d1\""},
                        {"\uff0bx", "\"'\uff0bx\"", "\"\uff0bx\""},
                        {"\uff0dx", "\"'\uff0dx\"", "\"\uff0dx\""},
                        {"\uff20x", "\"'\uff20x\"", "\"\uff20x\""},
                        {"a\xff", "a\uFFFD", "a\xff"},
                        {"-25", "-25", "-25"},
                        {"-1.5e-7", "-1.5e-7", "-1.5e-7"},
                        {"+3", "+3", "+3"},
                        {"- fast", "\"'- fast\"", "- fast"},
                        {"-", "\"'-\"", "-"}};
  for (const Case& one : cases) {
    EXPECT_EQ(csv_line({one.cell, "x"}), std::string(one.own) + ",x\n") << one.cell;
    EXPECT_EQ(official_csv_line({one.cell, "x"}), std::string(one.official) + ",x\n") << one.cell;
  }
}

TEST(Table, CellsStayInTheirLine) {
  EXPECT_EQ(align({{"a", "b"}, {"x\ny\x1b[2J", "1"}}), "a              b\nx\\x0ay\\x1b[2J  1\n");
}

}  // namespace
}  // namespace strata::scoring
