#include "report/drawing/chart.h"

#include <gtest/gtest.h>

#include <cmath>

namespace strata::report {
namespace {

const Words kWords = {"A <title>", "what \"it\" shows"};

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(DotChart, MarksEveryRunByItsKind) {
  const std::string svg = dot_chart({{.owner = {3, 1, "one"},
                                      .dots = {{5, DotKind::kCounted, "tip"},
                                               {6, DotKind::kDropped, ""},
                                               {7, DotKind::kFailed, ""}},
                                      .mark = 5.5,
                                      .note = "5.5"}},
                                    "minutes", kWords);
  EXPECT_EQ(count(svg, "class=\"dot\""), 1u);
  EXPECT_EQ(count(svg, "class=\"hollow\""), 1u);
  EXPECT_EQ(count(svg, "class=\"cross\""), 1u);
  EXPECT_EQ(count(svg, "class=\"mark\""), 1u);
  EXPECT_EQ(count(svg, "<title>tip</title>"), 1u);
  EXPECT_EQ(count(svg, "<g class=\"c1\" data-system=\"3\">"), 1u);
}

TEST(DotChart, TellsAScreenReaderWhatItShows) {
  EXPECT_NE(dot_chart({}, "minutes", kWords).find("role=\"img\" viewBox"), std::string::npos);
  EXPECT_NE(dot_chart({}, "minutes", kWords)
                .find("aria-label=\"A &lt;title&gt;. what &quot;it&quot; shows\""),
            std::string::npos);
}

LineChart lines(int systems) {
  LineChart chart;
  for (int i = 0; i < systems; ++i) {
    const Owner owner{i, -1, "system " + std::to_string(i)};
    chart.lines.push_back({owner, {{0, 0}, {1.0 + i, 1}}});
    chart.labels.push_back({owner, 1.0 + i, 1});
  }
  chart.x = linear_axis({0, 100}, true);
  chart.y = linear_axis({0, 1}, true);
  return chart;
}

TEST(LineChart, NamesEverySystemThatFits) {
  const std::string few = line_chart(lines(5), kWords);
  EXPECT_EQ(count(few, "class=\"name\""), 5u);
  EXPECT_EQ(few.find("have no name"), few.npos);
  const std::string many = line_chart(lines(90), kWords);
  const size_t named = count(many, "class=\"name\"");
  EXPECT_GT(named, 30u);
  EXPECT_LT(named, 90u);
  EXPECT_NE(many.find(std::to_string(90 - named) + " more have no name here"), many.npos);
}

TEST(LineChart, OnePointIsADot) {
  LineChart chart = lines(1);
  chart.lines[0].points.resize(1);
  const std::string svg = line_chart(chart, kWords);
  EXPECT_EQ(count(svg, "class=\"dot\""), 1u);
  EXPECT_EQ(count(svg, "class=\"line"), 0u);
}

TEST(ScatterChart, NamesDoNotCoverEachOther) {
  ScatterChart chart;
  chart.x = chart.y = linear_axis({0, 100}, true);
  for (int i = 0; i < 30; ++i) chart.points.push_back({{i, -1, "same place"}, 50, 50, "tip"});
  chart.points.push_back({{30, -1, "apart"}, 10, 10, "tip"});
  const std::string svg = scatter_chart(chart, kWords);
  EXPECT_EQ(count(svg, "class=\"dot\""), 31u);
  EXPECT_EQ(count(svg, ">apart</text>"), 1u);
  EXPECT_EQ(count(svg, ">same place</text>"), 1u) << "the others would cover it";
}

TEST(BarChart, PartsFollowEachOther) {
  const std::string svg =
      bar_chart({{.owner = {0, 0, "a"}, .parts = {30, 50, 20}}}, {"x", "y", "z"}, "ms", kWords);
  // The key and one bar.
  EXPECT_EQ(count(svg, "class=\"part p0\""), 2u);
  EXPECT_EQ(count(svg, "class=\"part p2\""), 2u);
  EXPECT_NE(svg.find("y: 50"), svg.npos);
}

TEST(Charts, HaveAPlaceForEveryNumber) {
  LineChart chart = lines(1);
  ScatterChart scatter;
  std::vector<double> values;
  for (const double value : {1e300, -1e308, 0.0, 5.0, double(INFINITY), double(NAN)}) {
    values.push_back(value);
    chart.lines[0].points.emplace_back(value, value);
    scatter.points.push_back({{0, 0, "a"}, value, value, ""});
  }
  chart.x = scatter.x = linear_axis(values, true);
  chart.y = scatter.y = time_axis(values);
  for (const std::string& svg : {line_chart(chart, kWords), scatter_chart(scatter, kWords)}) {
    EXPECT_EQ(svg.find("nan"), svg.npos);
    EXPECT_EQ(svg.find("inf"), svg.npos);
  }
}

}  // namespace
}  // namespace strata::report
