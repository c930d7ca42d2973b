#include "plan/report/plan_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/json_version.h"
#include "results/gnuplot.h"

namespace strata::plan {
namespace {

using nlohmann::json;

constexpr uint64_t kMostPlanBytes = 64 << 20;
// More bars than that cannot be told apart.
constexpr size_t kMostBars = 200;
constexpr std::array kTerms = {"compute", "imbalance", "constant", "bubble", "exposed"};

// What is drawn of a prediction.
struct Bar {
  double ranks = 0, batch = 0;
  std::array<double, kTerms.size()> milliseconds{};
  double minutes = 0, low = 0, high = 0;
  std::optional<double> published_milliseconds, published_minutes;
  std::string name;
};

class PlanReader {
 public:
  explicit PlanReader(std::string name) : name_(std::move(name)) {}

  std::vector<Bar> read(std::string_view text) {
    const json plan = json::parse(text, nullptr, false);
    if (!plan.is_object()) refuse("is not a JSON object");
    if (number(plan, "version") != kJsonVersion) refuse("is of another version");
    std::vector<Bar> bars;
    for (const json& each : list(plan, "plans")) {
      for (const json& prediction : list(each, "predictions")) bars.push_back(bar_of(prediction));
      for (const json& checked : list(each, "checked")) {
        bars.push_back(bar_of(field(checked, "prediction")));
        Bar& bar = bars.back();
        bar.published_milliseconds =
            1e3 * number(checked, "published_seconds_between_evaluations_a_step");
        bar.published_minutes = number(checked, "published_seconds") / 60;
        const json& name = field(checked, "name");
        if (name.is_string()) bar.name = name;
      }
    }
    if (bars.empty()) refuse("predicts nothing");
    return bars;
  }

 private:
  [[noreturn]] void refuse(const std::string& reason) const {
    fail("{}: {}; write it by 'strata plan --json'", name_, reason);
  }

  const json& field(const json& object, const char* key) const {
    if (!object.is_object() || !object.contains(key)) refuse(fmt::format("has no \"{}\"", key));
    return object.at(key);
  }

  double number(const json& object, const char* key) const {
    const json& value = field(object, key);
    const double number = value.is_number() ? value.get<double>() : std::nan("");
    if (!std::isfinite(number)) refuse(fmt::format("\"{}\" is not a number", key));
    return number;
  }

  const json& list(const json& object, const char* key) const {
    const json& value = field(object, key);
    if (!value.is_array()) refuse(fmt::format("\"{}\" is not a list", key));
    return value;
  }

  Bar bar_of(const json& prediction) const {
    Bar bar;
    bar.ranks = number(prediction, "ranks");
    bar.batch = number(prediction, "batch");
    const json& step = field(prediction, "step_seconds");
    for (size_t i = 0; i < kTerms.size(); ++i) bar.milliseconds[i] = 1e3 * number(step, kTerms[i]);
    const json& run = field(prediction, "run");
    bar.minutes = number(run, "seconds") / 60;
    bar.low = number(run, "low_seconds") / 60;
    bar.high = number(run, "high_seconds") / 60;
    return bar;
  }

  std::string name_;
};

std::string label_of(const Bar& bar) {
  const std::string label = fmt::format("{:.0f} x {:.4g}", bar.ranks, bar.batch / bar.ranks);
  return bar.name.empty() ? label : bar.name + " " + label;
}

std::string optional_number(std::optional<double> value) {
  return value ? fmt::format("{:.6g}", *value) : "NaN";
}

double total_of(const Bar& bar) {
  return std::accumulate(bar.milliseconds.begin(), bar.milliseconds.end(), 0.0);
}

// Columns from 1: where each term begins and the last ends, then minutes, low, high, published
// milliseconds, published minutes. A logarithmic axis begins at `floor`.
std::string data_of(const std::vector<Bar>& bars, double floor) {
  std::string data = "$plan << EOD\n";
  for (const Bar& bar : bars) {
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

std::string tics_of(const std::vector<Bar>& bars) {
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
  for (size_t i = 0; i < kTerms.size(); ++i) {
    script += fmt::format(
        "$plan using 0:{0}:($0-0.3):($0+0.3):{0}:{1} with boxxyerror fs solid noborder lc rgb "
        "'{2}' "
        "title '{3}', ",
        i + 1, i + 2, kColours[i], kTerms[i]);
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
  std::vector<Bar> bars = PlanReader(name).read(text);
  results::Plot plot;
  std::ranges::stable_sort(bars, {},
                           [](const Bar& bar) { return std::pair(bar.ranks, bar.batch); });
  while (bars.size() > kMostBars) {
    plot.left_out.push_back(
        fmt::format("{}: more than {} predictions", label_of(bars.back()), kMostBars));
    bars.pop_back();
  }
  plot.drawn = bars.size();
  const bool published =
      std::ranges::any_of(bars, [](const Bar& bar) { return bar.published_minutes.has_value(); });
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
