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

TEST(Table, LongTablesCanBeFiltered) {
  Table table("t", "Caption", {"Name"});
  for (int i = 0; i < 8; ++i) table.add({"row"});
  EXPECT_THAT(table.html(), HasSubstr("type=\"search\""));
}

TEST(Table, KnowsTheBenchmarkOfAllItsRows) {
  Table table("t", "Caption", {"Name"});
  table.add({"a"}, 0, "bert");
  EXPECT_THAT(table.html(), HasSubstr("<div class=\"table\" data-benchmark=\"bert\">"));
  table.add({"b"}, 0, "resnet");
  EXPECT_THAT(table.html(), HasSubstr("<div class=\"table\">"));
}

TEST(Table, LongWordsBreakAtUnderscoresAndFileNamesDoNot) {
  Table table("t", "Caption", {"Name", "Reason"});
  table.add({"Acme a_system_of_long_name result_10.txt", std::string(41, 'x')});
  const std::string html = table.html();
  EXPECT_THAT(html, HasSubstr("Acme a_<wbr>system_<wbr>of_<wbr>long_<wbr>name result_10.txt<"));
  EXPECT_THAT(html, HasSubstr("<td class=\"wrap\">")) << "only long cells are printed in lines";
}

TEST(Table, DataHaveAllDigits) {
  Table table("t", "Caption", {"Name", "Value"});
  table.add({"a", Cell::of(1.0 / 3)});
  table.add({"b", Cell::of(std::nullopt)});
  EXPECT_EQ(csv(table.data()), "Name,Value\na,0.3333333333333333\nb,\n");
}

TEST(Table, HeadingsAndCellsAreEscaped) {
  Table table("t", "<caption>", {"<head>"});
  table.add({"<cell>"}, 0, "<\"benchmark\">");
  const std::string html = table.html();
  for (const char* markup : {"<caption><", "<head>", "<cell>", "\"<"}) {
    EXPECT_EQ(html.find(markup), html.npos) << markup;
  }
}

}  // namespace
}  // namespace strata::report
