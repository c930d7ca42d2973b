#include <fmt/format.h>

#include <cmath>
#include <set>

#include "base/text/counts.h"
#include "base/timing.h"
#include "compare/measurement_side.h"
#include "report/sections/section.h"

namespace strata::report {
namespace {

using compare::MeasurementSide;

std::optional<double> middle(const MeasurementSide& side, const std::string& name) {
  const auto found = side.numbers.find(name);
  if (found == side.numbers.end() || found->second.empty()) return std::nullopt;
  return median(found->second);
}

std::string numbers_table(const std::vector<MeasurementSide>& sides) {
  std::set<std::string> names;
  std::vector<std::string> columns = {"Quantity"};
  for (const MeasurementSide& side : sides) {
    columns.push_back(fmt::format(
        "{}{}", side.name,
        side.documents > 1 ? fmt::format(" (median of {})", side.documents) : std::string()));
    for (const auto& [name, values] : side.numbers) names.insert(name);
  }
  Table table("measurements", "What 'strata bench' measured", columns);
  for (const std::string& name : names) {
    std::vector<Cell> cells = {name};
    for (const MeasurementSide& side : sides) cells.push_back(Cell::of(middle(side, name)));
    table.add(std::move(cells));
  }
  return table.html();
}

// Draws forward, backward and the later phases of `strata bench step`.
std::string phases_figure(const std::vector<MeasurementSide>& sides) {
  const std::vector<std::pair<std::string, std::string>> phases = {
      {"seconds.forward", "forward"},
      {"seconds.backward", "backward"},
      {"seconds.waiting_for_stages", "waiting for stages"},
      {"seconds.reduce_and_update_after_backward", "reduce and update after backward"}};
  std::vector<std::string> names;
  Data behind{"bench-step-phases", {"measurement"}, {}};
  for (const auto& [key, name] : phases) {
    names.push_back(name);
    behind.columns.push_back(name + " ms");
  }
  std::vector<BarRow> rows;
  for (const MeasurementSide& side : sides) {
    if (!middle(side, "seconds.forward")) continue;
    BarRow row;
    row.owner.name = side.name;
    behind.rows.push_back({side.name});
    for (const auto& [key, name] : phases) {
      row.parts.push_back(1000 * std::fmax(0, middle(side, key).value_or(0)));
      behind.rows.back().push_back(fmt::format("{:.6g}", row.parts.back()));
    }
    const auto share = middle(side, "share_of_matrix_peak");
    row.note = duration(middle(side, "seconds.step").value_or(0)) +
               (share ? ", " + percent(*share) + " of the peak" : "");
    rows.push_back(std::move(row));
  }
  if (rows.empty()) return "";
  return figure("", "Phases of a step, as 'strata bench step' measured them.",
                bar_chart(rows, names, "milliseconds per step"),
                {"Phases of a step", counted(rows.size(), "measurement")}, behind);
}

}  // namespace

Section measurements_section(const std::vector<std::filesystem::path>& files) {
  std::vector<MeasurementSide> sides;
  for (const std::filesystem::path& file : files) {
    sides.push_back(compare::read_measurement_side(file));
  }
  return {"measurements", "Measurements",
          sides.empty() ? "" : phases_figure(sides) + numbers_table(sides)};
}

}  // namespace strata::report
