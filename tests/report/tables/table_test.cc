#include "report/tables/table.h"

#include "tests/support/matchers.h"

namespace strata::report {
namespace {

TEST(Table, NumbersSortByTheirValue) {
  Table table("t", "Caption", {"Name", "Value"});
  table.add({"a", Cell::of(2'934'000)}, 4, "bert");
  table.add({"b", Cell::of(std::nullopt)});
  const std::string html = table.html();
  EXPECT_NE(html.find("<tr data-system=\"4\" data-benchmark=\"bert\">"), html.npos);
  EXPECT_NE(html.find("<td class=\"n\" data-value=\"2934000\">2.934 M</td>"), html.npos);
  EXPECT_NE(html.find("<td class=\"n\">-</td>"), html.npos);
  EXPECT_NE(html.find("<th scope=\"row\">a</th>"), html.npos);
  EXPECT_EQ(html.find("type=\"search\""), html.npos) << "two rows are seen at a glance";
}

TEST(Table, LongOnesCanBeFiltered) {
  Table table("t", "Caption", {"Name"});
  for (int i = 0; i < 8; ++i) table.add({"row"});
  EXPECT_THAT(table.html(), HasSubstr("type=\"search\""));
}

TEST(Table, DataHaveAllDigits) {
  Table table("t", "Caption", {"Name", "Value"});
  table.add({"a", Cell::of(1.0 / 3)});
  table.add({"b", Cell::of(std::nullopt)});
  EXPECT_EQ(csv(table.data()), "Name,Value\na,0.3333333333333333\nb,\n");
}

TEST(Table, HeadingsAndCellsAreText) {
  Table table("t", "<caption>", {"<head>"});
  table.add({"<cell>"}, 0, "<\"benchmark\">");
  const std::string html = table.html();
  for (const char* markup : {"<caption><", "<head>", "<cell>", "\"<"}) {
    EXPECT_EQ(html.find(markup), html.npos) << markup;
  }
}

}  // namespace
}  // namespace strata::report
