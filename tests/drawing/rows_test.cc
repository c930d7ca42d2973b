#include "drawing/rows.h"

#include <gtest/gtest.h>

#include <regex>

#include "tests/support/occurrences.h"

namespace strata::drawing {
namespace {

using testing_support::occurrences;

RowChart one_row(Entry entry) {
  RowChart chart;
  chart.rows = {{{3, 1, "one"}, {std::move(entry)}}};
  chart.panels = {{linear_axis({0, 100}, true), "minutes"}};
  return chart;
}

double number_in(const std::string& svg, const std::string& pattern) {
  std::smatch found;
  return std::regex_search(svg, found, std::regex(pattern)) ? std::stod(found[1]) : -1;
}

TEST(RowChart, MarksEveryRunByItsKind) {
  const std::string svg =
      row_chart(
          one_row(
              {.bars = {},
               .dots = {{5, Shape::kDot, "tip"}, {6, Shape::kHollow, ""}, {7, Shape::kCross, ""}},
               .mark = 5.5,
               .interval = std::nullopt,
               .note = "note 5.5"}))
          .elements;
  EXPECT_EQ(occurrences(svg, "class=\"dot\""), 1u);
  EXPECT_EQ(occurrences(svg, "class=\"hollow\""), 1u);
  EXPECT_EQ(occurrences(svg, "class=\"cross\""), 1u);
  EXPECT_EQ(occurrences(svg, "class=\"mark\""), 1u);
  EXPECT_EQ(occurrences(svg, "<title>tip</title>"), 1u);
  EXPECT_EQ(occurrences(svg, ">note 5.5</text>"), 1u);
  EXPECT_EQ(occurrences(svg, "<g class=\"c1\" data-system=\"3\">"), 1u);
}

TEST(RowChart, PartsFollowEachOtherAndHaveAKey) {
  RowChart chart = one_row({.bars = stacked({30, 50, 20}, {"x", "y", "z"})});
  chart.legend = keys_of_parts({"x", "y", "z"});
  const std::string svg = row_chart(chart).elements;
  EXPECT_EQ(occurrences(svg, "class=\"part p0\""), 2u);
  EXPECT_EQ(occurrences(svg, "class=\"part p2\""), 2u);
  EXPECT_EQ(occurrences(svg, "<title>y: 50</title>"), 1u);
  const std::string bar = "height=\"15\"><title>";
  const double first = number_in(svg, "p0\" x=\"([0-9.]+)\"[^>]*" + bar),
               width = number_in(svg, "p0\" x=[^>]*width=\"([0-9.]+)\"[^>]*" + bar),
               second = number_in(svg, "p1\" x=\"([0-9.]+)\"[^>]*" + bar);
  EXPECT_GT(width, 50);
  EXPECT_NEAR(first + width, second, 0.2);
}

TEST(RowChart, AnErrorBarGoesFromItsLowToItsHigh) {
  Entry entry;
  entry.dots = {{50, Shape::kDot, ""}};
  entry.interval = {40, 80};
  const std::string svg = row_chart(one_row(entry)).elements;
  const double low = number_in(svg, "class=\"interval\" d=\"M([0-9.]+)"),
               high = number_in(svg, "class=\"interval\" d=\"M[^H]*H([0-9.]+)"),
               dot = number_in(svg, "cx=\"([0-9.]+)\"");
  EXPECT_NEAR((dot - low) * 3, high - dot, 0.5);
  EXPECT_GT(low, 0);
}

TEST(RowChart, PanelsStandBesideEachOther) {
  RowChart chart = one_row({.bars = {}, .dots = {{1, Shape::kDot, ""}}});
  chart.rows[0].entries.push_back({.bars = {}, .dots = {{99, Shape::kHollow, ""}}});
  chart.panels.push_back({linear_axis({0, 100}, true), "more", 200});
  chart.panels[0].width = 300;
  const Drawing drawing = row_chart(chart);
  const double first = number_in(drawing.elements, "class=\"dot\" cx=\"([0-9.]+)\""),
               second = number_in(drawing.elements, "class=\"hollow\" cx=\"([0-9.]+)\"");
  EXPECT_GT(second, first + 300);
  EXPECT_LT(second, drawing.width);
}

TEST(RowChart, ABarHasTheFirstLabelThatFits) {
  const auto drawn = [](double to) {
    return row_chart(one_row({.bars = {{0, to, 0, "", {"layer_7", "7"}}}})).elements;
  };
  EXPECT_EQ(occurrences(drawn(50), ">layer_7</text>"), 1u);
  EXPECT_EQ(occurrences(drawn(4), ">7</text>"), 1u);
  EXPECT_EQ(occurrences(drawn(0.5), "7</text>"), 0u);
}

TEST(RowChart, NamesStandAboveNarrowRowsAndNotesBesideThem) {
  RowChart chart = one_row({.dots = {{100, Shape::kDot, ""}}, .note = "255.3 min"});
  const std::string wide = row_chart(chart).elements;
  chart.width = kNarrowWidth;
  const Drawing narrow = row_chart(chart);
  EXPECT_EQ(narrow.width, kNarrowWidth);
  const auto y_of = [](const std::string& svg, const std::string& text) {
    return number_in(svg, "y=\"([0-9.]+)\">(?:<title>[^<]*</title>)?" + text + "<");
  };
  EXPECT_EQ(y_of(wide, "one"), y_of(wide, "255.3 min"));
  EXPECT_LT(y_of(narrow.elements, "one") + 12, y_of(narrow.elements, "255.3 min"));
  EXPECT_LE(number_in(narrow.elements, "x=\"([0-9.]+)\"[^>]*>255.3 min") + width_of("255.3 min"),
            kNarrowWidth);
}

TEST(RowChart, ALegendTakesTheLinesThatItNeeds) {
  RowChart chart = one_row({});
  chart.legend = {{Shape::kDot, 0, std::string(30, 'a')}, {Shape::kDot, 1, std::string(30, 'b')}};
  const double wide = row_chart(chart).height;
  chart.width = kNarrowWidth;
  const Drawing narrow = row_chart(chart);
  EXPECT_GT(narrow.height, wide + kLegendHeight);
  for (const char* text : {"a{30}", "b{30}"}) {
    const double x = number_in(narrow.elements, std::string("x=\"([0-9.]+)\"[^>]*>") + text);
    EXPECT_GT(x, 0) << text;
    EXPECT_LE(x + 30 * kCharacter, kNarrowWidth) << text;
  }
}

TEST(RowChart, HatchingStaysInsideItsBar) {
  std::vector<Bar> bars = stacked({30, 50}, {"x", "y"});
  EXPECT_EQ(occurrences(row_chart(one_row({.bars = bars})).elements, "\"hatch\""), 0u);
  bars[1].is_hatched = true;
  const std::string svg = row_chart(one_row({.bars = bars})).elements;
  EXPECT_EQ(occurrences(svg, "\"hatch\""), 1u);
  const double left = number_in(svg, "part p1\" x=\"([0-9.]+)"),
               right = left + number_in(svg, "part p1\" x=[^>]*width=\"([0-9.]+)");
  const size_t begin = svg.find("\"hatch\"");
  const std::string path = svg.substr(begin, svg.find("/>", begin) - begin);
  const std::regex point("[ML]([0-9.]+) ");
  size_t points = 0;
  for (std::sregex_iterator found(path.begin(), path.end(), point), end; found != end; ++found) {
    EXPECT_GE(std::stod((*found)[1]), left - 0.1);
    EXPECT_LE(std::stod((*found)[1]), right + 0.1);
    ++points;
  }
  EXPECT_GT(points, 20u);
}

TEST(RowChart, LongNamesAreShortenedAndHaveATooltip) {
  const std::string name(100, 'x');
  RowChart chart = one_row({});
  chart.rows[0].owner.name = name;
  const std::string svg = row_chart(chart).elements;
  EXPECT_EQ(occurrences(svg, name), 1u);
  EXPECT_EQ(occurrences(svg, "<title>" + name + "</title>"), 1u);
  EXPECT_EQ(occurrences(svg, "xxx...xxx"), 1u);
}

}  // namespace
}  // namespace strata::drawing
