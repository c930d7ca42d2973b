#include "drawing/chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <regex>

#include "tests/support/occurrences.h"

namespace strata::drawing {
namespace {

using testing_support::occurrences;

Chart lines(int systems) {
  Chart chart;
  for (int i = 0; i < systems; ++i) {
    const Owner owner{i, -1, "system " + std::to_string(i)};
    chart.lines.push_back({owner, {{0, 0}, {1.0 + i, 1}}, false, false, ""});
    chart.labels.push_back({owner, 1.0 + i, 1});
  }
  chart.x = linear_axis({0, 100}, true);
  chart.y = linear_axis({0, 1}, true);
  return chart;
}

TEST(XyChart, NamesEverySystemThatFits) {
  const std::string few = xy_chart(lines(5)).elements;
  EXPECT_EQ(occurrences(few, "class=\"name"), 5u);
  EXPECT_EQ(occurrences(few, "rotate(-55"), 0u);
  EXPECT_EQ(few.find("labels do not fit"), few.npos);
  const std::string many = xy_chart(lines(90)).elements;
  const size_t named = occurrences(many, "class=\"name");
  EXPECT_EQ(occurrences(many, "rotate(-55"), named);
  EXPECT_GT(named, 30u);
  EXPECT_LT(named, 90u);
  EXPECT_NE(many.find(std::to_string(90 - named) + " more labels do not fit"), many.npos);
  EXPECT_EQ(occurrences(many, ">system 0</text>"), 1u) << "the most important comes first";
  EXPECT_EQ(occurrences(many, ">system 89</text>"), 0u);
}

TEST(XyChart, LongLabelsAreFewer) {
  Chart chart = lines(60);
  const size_t named = occurrences(xy_chart(chart).elements, "rotate(-55");
  for (EndLabel& label : chart.labels) label.owner.name += std::string(100, 'x');
  const size_t named_long = occurrences(xy_chart(chart).elements, "rotate(-55");
  EXPECT_LT(named_long, named);
  EXPECT_GT(named_long, 0u);
}

TEST(XyChart, NarrowScreensShowBoldLinesAndTheMostImportantNames) {
  Chart chart = lines(90);
  chart.lines[3].bold = true;
  const Drawing drawing = xy_chart(for_narrow_screens(chart));
  EXPECT_EQ(drawing.width, kNarrowWidth);
  EXPECT_EQ(occurrences(drawing.elements, "class=\"name"), 5u);
  EXPECT_EQ(occurrences(drawing.elements, "rotate(-55"), 0u);
  EXPECT_EQ(occurrences(drawing.elements, "class=\"line"), 1u);
  EXPECT_EQ(occurrences(drawing.elements, "85 more labels do not fit"), 1u);
  EXPECT_EQ(occurrences(xy_chart(for_narrow_screens(lines(9))).elements, "class=\"line"), 9u)
      << "few lines cover nothing";
}

TEST(XyChart, LabelsOfTicksNeverOverlap) {
  Chart chart = lines(1);
  chart.x.ticks.clear();
  for (int i = 0; i <= 100; ++i) chart.x.ticks.push_back(i);
  const std::string svg = xy_chart(for_narrow_screens(chart)).elements;
  const std::regex label("class=\"tick middle\" x=\"([0-9.]+)\"[^>]*>([^<]+)<");
  double end = -1;
  size_t count = 0;
  for (std::sregex_iterator found(svg.begin(), svg.end(), label), last; found != last; ++found) {
    const double width = width_of((*found)[2].str());
    EXPECT_GT(std::stod((*found)[1]) - width / 2, end);
    end = std::stod((*found)[1]) + width / 2;
    ++count;
  }
  EXPECT_GT(count, 5u);
}

TEST(XyChart, NamesOfPointsDoNotCoverThoseOfGuides) {
  Chart chart;
  chart.names_points = true;
  chart.x = chart.y = linear_axis({0, 100}, true);
  chart.points = {{Owner::coloured(0, "a point"), 50, 50}};
  EXPECT_EQ(occurrences(xy_chart(chart).elements, ">a point</text>"), 1u);
  chart.guides = {{{{0, 0}, {51, 50}}, "a guide"}};
  const std::string svg = xy_chart(chart).elements;
  EXPECT_EQ(occurrences(svg, ">a guide</text>"), 1u);
  EXPECT_EQ(occurrences(svg, ">a point</text>"), 0u);
}

// The lines of a level and of a band may lie close together.
TEST(XyChart, TextsOfLevelsAndBandsAreAtOppositeSides) {
  Chart chart = lines(1);
  chart.levels = {{0.5, "target 0.5"}};
  chart.band = {0.49, 1, "stretched 9 x"};
  const std::string svg = xy_chart(chart).elements;
  const auto x_of = [&](const std::string& pattern) {
    std::smatch found;
    return std::regex_search(svg, found, std::regex(pattern)) ? std::stod(found[1]) : -1;
  };
  const double target = x_of("class=\"tick halo\" x=\"([0-9.]+)\"[^>]*>target"),
               band = x_of("class=\"tick halo end\" x=\"([0-9.]+)\"[^>]*>stretched");
  EXPECT_GT(band - width_of("stretched 9 x"), target + width_of("target 0.5"));
}

TEST(XyChart, BoldLinesLieAboveOthers) {
  Chart chart = lines(2);
  chart.lines[0].bold = true;
  const std::string svg = xy_chart(chart).elements;
  EXPECT_LT(svg.find("class=\"line\""), svg.find("class=\"line bold\""));
}

TEST(XyChart, OnePointOfALineIsADot) {
  Chart chart = lines(1);
  chart.lines[0].points.resize(1);
  const std::string svg = xy_chart(chart).elements;
  EXPECT_EQ(occurrences(svg, "class=\"dot\""), 1u);
  EXPECT_EQ(occurrences(svg, "class=\"line"), 0u);
}

TEST(XyChart, NamesOfPointsDoNotCoverEachOther) {
  Chart chart;
  chart.names_points = true;
  chart.x = chart.y = linear_axis({0, 100}, true);
  for (int i = 0; i < 30; ++i) {
    chart.points.push_back({{i, -1, "same place"}, 50, 50, "tip", Shape::kDot});
  }
  chart.points.push_back({{30, -1, "apart"}, 10, 10, "tip", Shape::kDot});
  const std::string svg = xy_chart(chart).elements;
  EXPECT_EQ(occurrences(svg, "class=\"dot\""), 31u);
  EXPECT_EQ(occurrences(svg, ">apart</text>"), 1u);
  EXPECT_EQ(occurrences(svg, ">same place</text>"), 1u) << "the others would cover it";
}

TEST(XyChart, ShowsLevelsBandsUprightsAndColumns) {
  Chart chart = lines(1);
  chart.levels = {{0.7, "target 0.7"}};
  chart.band = {0.6, 0.8, "stretched"};
  chart.uprights = {{20, 1}};
  chart.columns = {{10, 20, 0.5}, {20, 30, 0.25}};
  chart.legend = {{Shape::kLine, 1, "a limit"}};
  const std::string svg = xy_chart(chart).elements;
  for (const char* part : {"class=\"level\"", ">target 0.7</text>", "class=\"band\"",
                           ">stretched</text>", "class=\"upright\"", ">a limit</text>"}) {
    EXPECT_EQ(occurrences(svg, part), 1u) << part;
  }
  EXPECT_EQ(occurrences(svg, "class=\"column\""), 2u);
}

TEST(XyChart, DrawsNumbersOfAnySize) {
  Chart chart = lines(1);
  std::vector<double> values;
  for (const double value : {1e300, -1e308, 0.0, 5.0, double(INFINITY), double(NAN)}) {
    values.push_back(value);
    chart.lines[0].points.emplace_back(value, value);
    chart.points.push_back({{0, 0, "a"}, value, value, "", Shape::kDot});
  }
  chart.x = linear_axis(values, true);
  chart.y = time_axis(values);
  const std::string svg = xy_chart(chart).elements;
  EXPECT_EQ(svg.find("nan"), svg.npos);
  EXPECT_EQ(svg.find("inf"), svg.npos);
}

}  // namespace
}  // namespace strata::drawing
