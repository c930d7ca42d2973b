#include "compare/comparison_report.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text/counts.h"
#include "base/text/json.h"
#include "base/text/json_version.h"
#include "base/text/printable.h"
#include "scoring/table.h"

namespace strata::compare {
namespace {

using nlohmann::ordered_json;
using scoring::csv_number;
using scoring::Row;

// Prints six digits, and all digits before the point.
std::string center(const Sample& sample) {
  constexpr double kSixDigits = 1e5;
  const auto value = sample.center();
  return scoring::number_cell(value,
                              value && std::fabs(*value) >= kSixDigits ? "{:.0f}" : "{:.6g}");
}

std::string title(const Quantity& quantity) {
  return quantity.unit.empty() ? quantity.name : quantity.name + ", " + quantity.unit;
}

std::string interval_text(const Quantity& quantity) {
  if (!quantity.ratio) return "-";
  const Interval& interval = quantity.ratio->interval;
  return fmt::format("{:+.1f} to {:+.1f} %", 100 * interval.low, 100 * interval.high);
}

std::string runs_text(const Quantity& quantity) {
  return fmt::format("{}, {}", quantity.base.values.size(), quantity.other.values.size());
}

std::vector<Row> rows_of(const Comparison& comparison) {
  std::vector<Row> rows = {
      {comparison.what, "A", "B", "difference", "95 % interval", "U", "p", "runs"}};
  for (const Quantity& quantity : comparison.quantities) {
    const auto difference = quantity.difference();
    rows.push_back({title(quantity), center(quantity.base), center(quantity.other),
                    difference ? fmt::format("{:+.2f} %", 100 * *difference) : "-",
                    interval_text(quantity), quantity.order ? count_text(quantity.order->u) : "-",
                    quantity.order ? fmt::format("{:.2g}", quantity.order->p) : "-",
                    runs_text(quantity)});
  }
  return rows;
}

// Returns a sentence about the quantity that counts.
std::string verdict(const Comparison& comparison) {
  if (!comparison.judged_first || comparison.quantities.empty()) return "";
  const Quantity& score = comparison.quantities.front();
  const auto worse = score.worse_by();
  if (!worse) return "no score to compare";
  if (*worse == 0) return "B's score equals A's";
  std::string text = fmt::format("B's score is {:.2f} % {} than A's", 100 * std::fabs(*worse),
                                 *worse > 0 ? "slower" : "faster");
  if (!score.ratio) return text + "; too few runs for an interval";
  const Interval& interval = score.ratio->interval;
  if (interval.low <= 0 && interval.high >= 0) {
    text += "; this may be chance: the interval contains 0";
  }
  return text;
}

std::string parts_text(const Comparison& comparison) {
  if (comparison.parts.empty()) return "";
  double sum = 0;
  std::string parts;
  for (const Part& part : comparison.parts) {
    sum += part.seconds;
    parts += fmt::format("{}{} {:+.2f} s", parts.empty() ? "" : ", ", part.name, part.seconds);
  }
  return fmt::format("mean times differ by {:+.2f} s: {}", sum, parts);
}

// Returns the sentences below a table.
std::vector<std::string> sentences(const Comparison& comparison) {
  std::vector<std::string> all;
  for (std::string text : {verdict(comparison), parts_text(comparison)}) {
    if (!text.empty()) all.push_back(std::move(text));
  }
  for (const std::string& note : comparison.notes) all.push_back("note: " + note);
  return all;
}

// Escapes a text for a Markdown cell.
std::string markdown_cell(const std::string& text) {
  std::string escaped;
  for (const char c : printable_lines(text)) {
    if (c == '\n' || c == '\r') {
      escaped += ' ';
    } else {
      if (std::string_view("|\\`*_<>[]").find(c) != std::string_view::npos) escaped += '\\';
      escaped += c;
    }
  }
  return escaped;
}

std::string markdown_row(const Row& row) {
  std::string line = "|";
  for (const std::string& cell : row) line += ' ' + markdown_cell(cell) + " |";
  return line + '\n';
}

ordered_json to_json(std::optional<double> value) {
  return value ? ordered_json(*value) : ordered_json();
}

ordered_json to_json(const Quantity& quantity) {
  static constexpr const char* kBetter[] = {"lower", "higher", "neither"};
  ordered_json result = {{"name", quantity.name},
                         {"unit", quantity.unit},
                         {"better", kBetter[static_cast<int>(quantity.better)]},
                         {"a", quantity.base.values},
                         {"b", quantity.other.values},
                         {"a_center", to_json(quantity.base.center())},
                         {"b_center", to_json(quantity.other.center())},
                         {"difference", to_json(quantity.difference())},
                         {"interval", ordered_json()},
                         {"p", to_json(quantity.p())},
                         {"mann_whitney", ordered_json()}};
  if (quantity.ratio) {
    result["interval"] = {quantity.ratio->interval.low, quantity.ratio->interval.high};
  }
  if (quantity.order) {
    result["mann_whitney"] = {
        {"u", quantity.order->u}, {"p", quantity.order->p}, {"exact", quantity.order->exact}};
  }
  return result;
}

}  // namespace

std::string comparison_text(const std::vector<Comparison>& comparisons) {
  std::string text;
  for (const Comparison& comparison : comparisons) {
    if (!text.empty()) text += '\n';
    text += fmt::format("A: {}\nB: {}\n", one_line(comparison.base), one_line(comparison.other));
    text += scoring::align(rows_of(comparison));
    for (const std::string& sentence : sentences(comparison)) text += one_line(sentence) + '\n';
  }
  return text;
}

std::string comparison_markdown(const std::vector<Comparison>& comparisons) {
  std::string text;
  for (const Comparison& comparison : comparisons) {
    if (!text.empty()) text += '\n';
    text += fmt::format("A: {}, B: {}\n\n", markdown_cell(comparison.base),
                        markdown_cell(comparison.other));
    const std::vector<Row> rows = rows_of(comparison);
    text += markdown_row(rows.front()) + "| --- |";
    for (size_t i = 1; i < rows.front().size(); ++i) text += " ---: |";
    text += '\n';
    for (size_t i = 1; i < rows.size(); ++i) text += markdown_row(rows[i]);
    text += '\n';
    for (const std::string& sentence : sentences(comparison)) {
      text += "- " + markdown_cell(sentence) + '\n';
    }
  }
  return text;
}

std::string comparison_csv(const std::vector<Comparison>& comparisons) {
  std::string text =
      scoring::csv_line({"what", "a", "b", "quantity", "unit", "a_runs", "b_runs", "a_center",
                         "b_center", "difference", "interval_low", "interval_high", "u", "p"});
  for (const Comparison& comparison : comparisons) {
    for (const Quantity& quantity : comparison.quantities) {
      std::optional<double> low, high, u, p;
      if (quantity.ratio) {
        low = quantity.ratio->interval.low, high = quantity.ratio->interval.high;
      }
      if (quantity.order) u = quantity.order->u, p = quantity.order->p;
      text += scoring::csv_line(
          {comparison.what, comparison.base, comparison.other, quantity.name, quantity.unit,
           std::to_string(quantity.base.values.size()),
           std::to_string(quantity.other.values.size()), csv_number(quantity.base.center()),
           csv_number(quantity.other.center()), csv_number(quantity.difference()), csv_number(low),
           csv_number(high), csv_number(u), csv_number(p)});
    }
  }
  return text;
}

std::string comparison_json(const std::vector<Comparison>& comparisons) {
  ordered_json list = ordered_json::array();
  for (const Comparison& comparison : comparisons) {
    ordered_json quantities = ordered_json::array(), parts = ordered_json::array();
    for (const Quantity& quantity : comparison.quantities) quantities.push_back(to_json(quantity));
    for (const Part& part : comparison.parts) {
      parts.push_back({{"name", part.name}, {"seconds", part.seconds}});
    }
    list.push_back({{"what", comparison.what},
                    {"a", comparison.base},
                    {"b", comparison.other},
                    {"quantities", quantities},
                    {"parts", parts},
                    {"notes", comparison.notes}});
  }
  const ordered_json result = {{"version", kJsonVersion}, {"comparisons", list}};
  return json_text(result, 2) + '\n';
}

}  // namespace strata::compare
