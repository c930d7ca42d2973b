#include "scoring/plots/history_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/files/files.h"
#include "drawing/rows.h"

namespace strata::scoring {
namespace {

using drawing::Owner;
using nlohmann::json;
using Number = BuildComparison::Number;

constexpr int kHistoryVersion = 1;  // of the lines that scripts/developing/bench_numbers.py writes
constexpr size_t kMostRows = 1000;
constexpr double kLargestRatio = 1e6;
// Colours of chart.css.
constexpr int kSlower = 1, kFaster = 2, kEqual = -1;

// ---- Reading

double ratio_of(const json& value) {
  if (!value.is_number()) fail("a ratio is not a number");
  const auto ratio = value.get<double>();
  if (!(ratio > 0 && ratio < kLargestRatio)) fail("{} is not a ratio of times", ratio);
  return ratio;
}

std::string required_text(const json& object, const char* key) {
  const auto value = object.find(key);
  if (value == object.end() || !value->is_string()) fail("there is no '{}'", key);
  return value->get<std::string>();
}

BuildComparison comparison_of(const json& line) {
  if (!line.is_object()) fail("is not a JSON object as scripts/bench.sh writes it");
  const auto version = line.find("version"), numbers = line.find("numbers");
  if (version == line.end() || *version != kHistoryVersion)
    fail("does not have version {}", kHistoryVersion);
  if (numbers == line.end() || !numbers->is_object()) fail("there are no 'numbers'");
  BuildComparison result{.date = required_text(line, "date"),
                         .old_commit = required_text(line, "old"),
                         .new_commit = required_text(line, "new"),
                         .processor = required_text(line, "processor"),
                         .numbers = {}};
  for (const auto& [name, each] : numbers->items()) {
    if (!each.is_object() || !each.contains("ratio")) fail("{} has no 'ratio'", name);
    Number number{.ratio = ratio_of(each["ratio"]), .interval = {}};
    const auto interval = each.find("interval");
    if (interval != each.end() && !interval->is_null()) {
      if (!interval->is_array() || interval->size() != 2)
        fail("{}: 'interval' must have two numbers", name);
      number.interval.emplace(ratio_of((*interval)[0]), ratio_of((*interval)[1]));
    }
    result.numbers.emplace(name, number);
  }
  return result;
}

// ---- Drawing

double percent(double ratio) { return 100 * (ratio - 1); }

int colour_of(const Number& number) {
  if (!number.interval) return kEqual;
  if (number.interval->first > 1) return kSlower;
  return number.interval->second < 1 ? kFaster : kEqual;
}

drawing::Row row_of(const BuildComparison& comparison, const Number& number) {
  drawing::Entry entry;
  const double difference = percent(number.ratio);
  entry.dots.push_back(
      {.value = difference, .tip = fmt::format("{:+.2f} %, {}", difference, comparison.processor)});
  entry.note = fmt::format("{:+.1f} %", difference);
  if (number.interval) {
    entry.interval.emplace(percent(number.interval->first), percent(number.interval->second));
  }
  return {Owner::coloured(colour_of(number),
                          fmt::format("{} {}, {}", comparison.old_commit, comparison.new_commit,
                                      comparison.date.substr(0, comparison.date.find('T')))),
          {std::move(entry)}};
}

bool is_chosen(const std::string& name, const std::vector<std::string>& only) {
  return only.empty() || std::ranges::any_of(only, [&](const std::string& part) {
           return name.find(part) != name.npos;
         });
}

}  // namespace

std::vector<BuildComparison> read_build_comparisons(
    const std::vector<std::filesystem::path>& paths) {
  std::vector<BuildComparison> comparisons;
  for (const std::filesystem::path& path : paths) {
    std::istringstream lines(read_file(path));
    std::string line;
    for (size_t number = 1; std::getline(lines, line); ++number) {
      if (line.find_first_not_of(" \t\r") == line.npos) continue;
      try {
        comparisons.push_back(comparison_of(json::parse(line, nullptr, false)));
      } catch (const std::exception& error) {
        fail("{}: line {}: {}", path.string(), number, error.what());
      }
    }
  }
  return comparisons;
}

drawing::Plot plot_history(const std::vector<BuildComparison>& comparisons,
                           const std::vector<std::string>& only) {
  std::set<std::string> names;
  std::vector<double> differences{0};
  size_t rows = 0;
  for (const BuildComparison& comparison : comparisons) {
    for (const auto& [name, number] : comparison.numbers) {
      if (!is_chosen(name, only)) continue;
      names.insert(name);
      ++rows;
      differences.push_back(percent(number.ratio));
      if (!number.interval) continue;
      differences.push_back(percent(number.interval->first));
      differences.push_back(percent(number.interval->second));
    }
  }
  if (names.empty()) {
    fail("there is nothing to plot: no comparison has a number{}",
         only.empty() ? "" : " that --only chooses");
  }
  if (rows > kMostRows) {
    fail(
        "{} comparisons are too many for one picture, which holds at most {}; choose some with "
        "--only",
        rows, kMostRows);
  }
  const drawing::Axis axis = drawing::linear_axis(differences, false);
  drawing::Plot plot;
  plot.drawn = rows;
  std::vector<drawing::Drawing> drawings;
  for (const std::string& name : names) {
    drawing::RowChart chart{
        .rows = {},
        .panels = {{.axis = axis,
                    .title = "new build over old, difference in %, with its 95 % interval",
                    .has_zero_line = true}},
        .legend = {},
        .heading = name};
    if (drawings.empty()) {
      chart.legend = {{drawing::Shape::kDot, kSlower, "larger"},
                      {drawing::Shape::kDot, kFaster, "smaller"},
                      {drawing::Shape::kDot, kEqual, "the interval contains 0, or there is none"}};
    }
    for (const BuildComparison& comparison : comparisons) {
      const auto found = comparison.numbers.find(name);
      if (found != comparison.numbers.end())
        chart.rows.push_back(row_of(comparison, found->second));
    }
    drawings.push_back(row_chart(chart));
  }
  plot.picture = drawing::titled("Builds compared in turns", drawings);
  return plot;
}

}  // namespace strata::scoring
