#include "plan/report/plan_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/files.h"
#include "plan/report/plan_file.h"
#include "results/plots/gnuplot.h"

namespace strata::plan {
namespace {

// More bars than that cannot be told apart.
constexpr size_t kMostBars = 200;

std::string label_of(const PlannedRun& bar) {
  const std::string label = fmt::format("{:.0f} x {:.4g}", bar.ranks, bar.batch / bar.ranks);
  return bar.name.empty() ? label : bar.name + " " + label;
}

std::string optional_number(std::optional<double> value) {
  return value ? fmt::format("{:.6g}", *value) : "NaN";
}

double total_of(const PlannedRun& bar) {
  return std::accumulate(bar.milliseconds.begin(), bar.milliseconds.end(), 0.0);
}

// Columns from 1: where each term begins and the last ends, then minutes, low, high, published
// milliseconds, published minutes. A logarithmic axis begins at `floor`.
std::string data_of(const std::vector<PlannedRun>& bars, double floor) {
  std::string data = "$plan << EOD\n";
  for (const PlannedRun& bar : bars) {
    double end = 0;
    data += fmt::format("{:.6g}", floor);
    for (const double term : bar.milliseconds) {
      end += term;
      data += fmt::format(" {:.6g}", std::max(end, floor));
    }
    data += fmt::format(" {:.6g} {:.6g} {:.6g} {} {}\n", bar.minutes, std::max(bar.low, 1e-6),
                        bar.high, optional_number(bar.published_milliseconds),
                        optional_number(bar.published_minutes));
  }
  return data + "EOD\n";
}

std::string tics_of(const std::vector<PlannedRun>& bars) {
  std::string tics;
  for (size_t i = 0; i < bars.size(); ++i) {
    tics +=
        fmt::format("{}{} {}", i == 0 ? "" : ", ", results::gnuplot_string(label_of(bars[i])), i);
  }
  return fmt::format("set xtics rotate by -40 noenhanced ({})\nset xrange [-0.6:{}]\n", tics,
                     static_cast<double>(bars.size()) - 0.4);
}

// A box a term; published values beside them.
std::string step_panel(bool published) {
  constexpr std::array kColours = {"#0072b2", "#e69f00", "#999999", "#cc79a7", "#d55e00"};
  std::string script = "set title 'Step: ranks x samples a rank'\nset ylabel 'ms'\nplot ";
  for (size_t i = 0; i < kStepTerms.size(); ++i) {
    script += fmt::format(
        "$plan using 0:{0}:($0-0.3):($0+0.3):{0}:{1} with boxxyerror fs solid noborder lc rgb "
        "'{2}' "
        "title '{3}', ",
        i + 1, i + 2, kColours[i], kStepTerms[i]);
  }
  return script + (published ? "$plan using 0:10 with points pt 7 lc 'black' title 'published'\n"
                             : "NaN notitle\n");
}

std::string run_panel(bool published) {
  return std::string(
             "set title 'Time to train, with two standard deviations'\nset ylabel 'minutes'\n"
             "set yrange [*:*]\nset logscale y\n"
             "plot $plan using 0:7:8:9 with yerrorbars pt 5 ps 0.6 lc rgb '#0072b2' title "
             "'predicted'") +
         (published ? ", $plan using 0:11 with points pt 7 lc 'black' title 'published'\n" : "\n");
}

}  // namespace

results::Plot plot_plan(std::string_view text, const std::string& name) {
  std::vector<PlannedRun> bars = parse_plan_file(text, name);
  results::Plot plot;
  std::ranges::stable_sort(bars, {},
                           [](const PlannedRun& bar) { return std::pair(bar.ranks, bar.batch); });
  while (bars.size() > kMostBars) {
    plot.left_out.push_back(
        fmt::format("{}: more than {} predictions", label_of(bars.back()), kMostBars));
    bars.pop_back();
  }
  plot.drawn = bars.size();
  const bool published = std::ranges::any_of(
      bars, [](const PlannedRun& bar) { return bar.published_minutes.has_value(); });
  const auto [least, most] = std::ranges::minmax(bars, {}, total_of);
  constexpr double kFarApart = 20;
  const bool logarithmic = total_of(most) > kFarApart * total_of(least);
  const double floor = logarithmic ? total_of(least) / 4 : 0;
  std::string script = data_of(bars, floor) + "set multiplot layout 2,1\n" + tics_of(bars) +
                       "set key outside right top\nset grid ytics\n" +
                       (logarithmic ? "set logscale y\n" : "") +
                       fmt::format("set yrange [{:.6g}:*]\n", floor) + step_panel(published) +
                       run_panel(published) + "unset multiplot\n";
  constexpr double kInchesABar = 0.45, kMargins = 4;
  plot.picture = {std::move(script),
                  std::max(9.0, kMargins + kInchesABar * static_cast<double>(bars.size())), 10};
  return plot;
}

results::Plot plot_plan(const std::filesystem::path& path) {
  return plot_plan(read_file(path, kMostPlanBytes), path.string());
}

}  // namespace strata::plan
