#include "plan/report/plan_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/files/files.h"
#include "drawing/rows.h"
#include "drawing/text.h"
#include "plan/report/plan_file.h"

namespace strata::plan {
namespace {

using drawing::Entry;
using drawing::Shape;

// More rows make no readable picture.
constexpr size_t kMostRows = 200;

drawing::Owner owner_of(const PlannedRun& run) {
  return drawing::Owner::coloured(0, run.found.empty() ? run.name : run.found + " of the search",
                                  fmt::format("{:.0f} x {:.4g}", run.ranks, run.batch / run.ranks));
}

double total_of(const PlannedRun& run) {
  return std::accumulate(run.milliseconds.begin(), run.milliseconds.end(), 0.0);
}

void add_published(const std::optional<double>& value, const char* unit, Entry& entry) {
  if (!value) return;
  entry.dots.push_back({*value, Shape::kHollow, fmt::format("published: {:.4g} {}", *value, unit)});
}

Entry step_entry(const PlannedRun& run) {
  Entry entry;
  entry.bars = drawing::stacked({run.milliseconds.begin(), run.milliseconds.end()},
                                {kStepTerms.begin(), kStepTerms.end()});
  for (drawing::Bar& bar : entry.bars) {
    bar.is_hatched = !run.extrapolation.empty();
    if (bar.is_hatched) bar.tip += ", extrapolated: " + run.extrapolation;
  }
  add_published(run.published_milliseconds, "ms", entry);
  entry.note = drawing::short_number(total_of(run));
  return entry;
}

Entry run_entry(const PlannedRun& run) {
  Entry entry;
  entry.dots.push_back(
      {run.minutes, run.found.empty() ? Shape::kSmallDot : Shape::kDiamond,
       fmt::format("{:.4g} min, {:.4g} to {:.4g}", run.minutes, run.low, run.high)});
  entry.interval = {run.low, run.high};
  add_published(run.published_minutes, "min", entry);
  entry.note = drawing::short_number(run.minutes);
  return entry;
}

}  // namespace

drawing::Plot plot_plan(std::string_view text, const std::string& name) {
  std::vector<PlannedRun> runs = parse_plan_file(text, name);
  drawing::Plot plot;
  std::ranges::stable_sort(runs, {},
                           [](const PlannedRun& run) { return std::pair(run.ranks, run.batch); });
  while (runs.size() > kMostRows) {
    plot.left_out.push_back(fmt::format("{}: more than {} predictions",
                                        owner_of(runs.back()).label(drawing::kLongestText),
                                        kMostRows));
    runs.pop_back();
  }
  plot.drawn = runs.size();
  constexpr double kPanel = 400, kApart = 0.1;
  drawing::RowChart chart;
  chart.longest_name = 70;
  std::vector<double> steps, minutes;
  bool has_published = false;
  for (const PlannedRun& run : runs) {
    chart.rows.push_back({owner_of(run), {step_entry(run), run_entry(run)}});
    steps.push_back(total_of(run));
    minutes.insert(minutes.end(), {run.minutes, run.high, std::max(run.low, run.minutes / 10)});
    if (run.published_milliseconds) steps.push_back(*run.published_milliseconds);
    if (run.published_minutes) minutes.push_back(*run.published_minutes);
    has_published = has_published || run.published_minutes;
  }
  // Only on a linear axis are the parts of a bar as long as their times.
  chart.panels = {{drawing::linear_axis(steps, true, kApart), "milliseconds per step", kPanel},
                  {drawing::time_axis(minutes, kApart),
                   "minutes to train, with two standard deviations", kPanel}};
  chart.legend = drawing::keys_of_parts({kStepTerms.begin(), kStepTerms.end()});
  chart.legend.push_back({Shape::kInterval, 0, "predicted"});
  if (std::ranges::any_of(runs, [](const auto& run) { return !run.found.empty(); })) {
    chart.legend.push_back({Shape::kDiamond, 0, "found by the search"});
  }
  if (std::ranges::any_of(runs, [](const auto& run) { return !run.extrapolation.empty(); })) {
    chart.legend.push_back({Shape::kHatched, -1, "beyond the calibrated range"});
  }
  if (has_published) chart.legend.push_back({Shape::kHollow, 0, "published"});
  plot.picture =
      drawing::titled("Predicted steps and runs: ranks x samples per rank", {row_chart(chart)});
  return plot;
}

drawing::Plot plot_plan(const std::filesystem::path& path) {
  return plot_plan(read_file(path, kMostPlanBytes), path.string());
}

}  // namespace strata::plan
