#include "results/plots/rcp_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "compliance/package/scaling.h"
#include "results/plots/number_axis.h"
#include "results/plots/plot_parts.h"

namespace strata::results {
namespace {

using compliance::RcpPass;
using compliance::ReferencePoint;
using compliance::ReferencePoints;

RcpRow row_of(const ReferencePoint& point) {
  return {point.batch_size, point.mean, point.least_mean, point.epochs.size()};
}

const std::vector<ReferencePoint>& points_of(const ReferencePoints& points, RcpPass pass) {
  return pass == RcpPass::kPruned ? points.pruned() : points.full();
}

// Between two points; at one, that.
RcpRow row_at(const ReferencePoints& points, const std::vector<ReferencePoint>& known,
              double batch_size) {
  const auto high = std::lower_bound(
      known.begin(), known.end(), batch_size,
      [](const ReferencePoint& point, double wanted) { return point.batch_size < wanted; });
  if (high->batch_size == batch_size) return row_of(*high);
  return row_of(points.interpolate(batch_size, *std::prev(high), *high));
}

// Places along the axis from point to point, for a line.
std::vector<RcpRow> line_rows(const ReferencePoints& points,
                              const std::vector<ReferencePoint>& known) {
  constexpr int kBetween = 24;
  std::vector<RcpRow> rows;
  for (size_t i = 0; i + 1 < known.size(); ++i) {
    const double low = known[i].batch_size, high = known[i + 1].batch_size;
    for (int step = 0; step < kBetween && high > low; ++step) {
      rows.push_back(row_at(points, known, low + (high - low) * step / kBetween));
    }
  }
  rows.push_back(row_of(known.back()));
  return rows;
}

std::string points_block(std::string_view name, const std::vector<RcpRow>& rows) {
  std::string text = fmt::format("{} << EOD\n", name);
  for (const RcpRow& row : rows)
    text += fmt::format("{:.10g} {:.10g} {:.10g}\n", row.batch_size, row.mean, row.least);
  return text + "EOD\n";
}

std::string title_of(const ReferencePoints& points, std::string_view what) {
  return fmt::format("{}, MLPerf {}: {}", shortened(points.benchmark(), 40),
                     round_in_short(std::string(points.ruleset())), what);
}

// Margins, axes and title.
std::string frame(const Picture& picture, const NumberAxis& x, const NumberAxis& y,
                  const std::string& x_title, const std::string& y_title,
                  const std::string& title) {
  constexpr double kLeft = 1, kRight = 0.3, kTop = 0.75, kBottom = 0.65;
  const auto range = [](const char* side, const NumberAxis& axis) {
    return fmt::format("{}set {}range [{:.10g}:{:.10g}]\nset {}tics {}\n",
                       axis.is_logarithmic() ? fmt::format("set logscale {}\n", side) : "", side,
                       axis.from(), axis.to(), side, tics_at(axis.ticks()));
  };
  return fmt::format(
             "set lmargin at screen {:.4f}\nset rmargin at screen {:.4f}\nset bmargin at screen "
             "{:.4f}\nset tmargin at screen {:.4f}\n",
             kLeft / picture.width, 1 - kRight / picture.width, kBottom / picture.height,
             1 - kTop / picture.height) +
         range("x", x) + range("y", y) +
         fmt::format("set xlabel {}\nset ylabel {}\n", gnuplot_string(x_title),
                     gnuplot_string(y_title)) +
         "set grid lc rgb '#dddddd' lw 0.5 lt 1\nset tics nomirror\n" +
         fmt::format("set label {} at screen {:.4f}, screen {:.4f} left font ':Bold'\n",
                     gnuplot_string(title), kLeft / picture.width, 1 - 0.2 / picture.height) +
         fmt::format("set key at screen {:.4f}, screen {:.4f} right top horizontal samplen 2\n",
                     1 - kRight / picture.width, 1 - 0.35 / picture.height);
}

}  // namespace

std::vector<RcpRow> rcp_rows(const ReferencePoints& points, RcpPass pass, bool interpolate) {
  const auto& known = points_of(points, pass);
  std::vector<RcpRow> rows;
  if (!interpolate) {
    for (const ReferencePoint& point : known) rows.push_back(row_of(point));
    return rows;
  }
  constexpr double kMostRows = 1e6;
  const double first = known.front().batch_size, last = known.back().batch_size;
  if (!(last - first < kMostRows))
    fail("{}: {} batch sizes are too many to be interpolated", points.source(), last - first + 1);
  for (double batch_size = first; batch_size <= last; ++batch_size)
    rows.push_back(row_at(points, known, batch_size));
  return rows;
}

RcpBootstrap rcp_bootstrap(const ReferencePoints& points, double batch_size, uint64_t seed,
                           size_t draws) {
  const auto& known = points.full();
  const auto found = std::ranges::find(known, batch_size, &ReferencePoint::batch_size);
  if (found == known.end()) {
    fail("{}: batch size {:.10g} is not measured; there are: {}", points.source(), batch_size,
         fmt::join(
             [&] {
               std::vector<double> sizes;
               for (const ReferencePoint& point : known) sizes.push_back(point.batch_size);
               return sizes;
             }(),
             ", "));
  }
  RcpBootstrap result;
  result.point = row_of(*found);
  result.submission_runs = points.runs_of_a_submission();
  const auto runs = static_cast<size_t>(std::max(result.submission_runs, 0));
  const auto cut = static_cast<size_t>(std::ceil(0.1 * static_cast<double>(runs)));
  if (runs <= 2 * cut || found->epochs.empty())
    fail("{}: of {} runs none are left without the extremes", points.source(), runs);
  SplitMix64 random(splitmix64(seed));
  std::vector<double> drawn(runs);
  for (size_t i = 0; i < draws; ++i) {
    for (double& value : drawn) {
      const double place = unit_interval(random.next()) * static_cast<double>(found->epochs.size());
      value = found->epochs[static_cast<size_t>(place)];
    }
    std::sort(drawn.begin(), drawn.end());
    result.scores.push_back(compliance::olympic_mean(drawn, static_cast<int>(cut)));
  }
  std::sort(result.scores.begin(), result.scores.end());
  const auto below =
      std::lower_bound(result.scores.begin(), result.scores.end(), result.point.least) -
      result.scores.begin();
  result.below_least = static_cast<double>(below) / static_cast<double>(result.scores.size());
  return result;
}

std::vector<HistogramBar> histogram(const std::vector<double>& sorted) {
  if (sorted.empty()) return {};
  const auto count = static_cast<double>(sorted.size());
  const double least = sorted.front(), most = sorted.back();
  if (!(most > least)) return {{least, most, sorted.size()}};
  // The finer of the rules of Sturges and of Freedman and Diaconis.
  constexpr double kMostBars = 200;
  const double quartiles = sorted[sorted.size() * 3 / 4] - sorted[sorted.size() / 4];
  const double width = 2 * quartiles / std::cbrt(count);
  double bars = std::ceil(std::log2(count) + 1);
  if (width > 0) bars = std::max(bars, std::ceil((most - least) / width));
  bars = std::min(bars, kMostBars);
  std::vector<HistogramBar> result;
  const double step = (most - least) / bars;
  for (int i = 0; i < static_cast<int>(bars); ++i)
    result.push_back({least + i * step, least + (i + 1) * step, 0});
  for (const double value : sorted) {
    const auto place = static_cast<size_t>((value - least) / step);
    ++result[std::min(place, result.size() - 1)].count;
  }
  return result;
}

std::string rcp_unit(std::string_view benchmark) {
  for (const std::string_view name :
       {"bert", "llama2_70b_lora", "flux1", "llama31_405b", "llama31_8b", "gpt_oss_20b",
        "deepseekv3_671b", "qwen35_397b_grpo", "dlrmv4", "stable_diffusion"}) {
    if (benchmark == name) return "samples";
  }
  return "epochs";
}

std::string rcp_csv(const std::vector<RcpRow>& rows, bool header) {
  std::string text = header ? "BS,Mean,Min\n" : "";
  for (const RcpRow& row : rows) {
    text += fmt::format("{},{},{}\n", row.batch_size, compliance::python_float(row.mean),
                        compliance::python_float(row.least));
  }
  return text;
}

Plot plot_rcp(const ReferencePoints& points, RcpPass pass, bool interpolate) {
  const auto& known = points_of(points, pass);
  std::vector<RcpRow> judging, dominated;
  std::string runs = "$runs << EOD\n";
  double least = std::numeric_limits<double>::infinity(), most = 0, small = least, large = 0;
  const auto widen = [](double value, double& low, double& high) {
    low = std::min(low, value);
    high = std::max(high, value);
  };
  for (const ReferencePoint& point : points.full()) {
    const RcpRow row = row_of(point);
    const bool judges =
        std::ranges::find(known, point.batch_size, &ReferencePoint::batch_size) != known.end();
    (judges ? judging : dominated).push_back(row);
    widen(row.batch_size, small, large);
    widen(row.least, least, most);
    for (const double value : point.epochs) {
      widen(value, least, most);
      runs += fmt::format("{:.10g} {:.10g}\n", row.batch_size, value);
    }
  }
  Plot plot;
  plot.drawn = points.full().size();
  Picture& picture = plot.picture;
  const std::string unit = rcp_unit(points.benchmark());
  picture.script =
      runs + "EOD\n" + points_block("$judging", judging) +
      (dominated.empty() ? "" : points_block("$dominated", dominated)) +
      (interpolate ? points_block("$lines", line_rows(points, known)) : "") +
      frame(picture, NumberAxis::of(small, large), NumberAxis::of(least, most), "global batch size",
            unit + " to converge", title_of(points, "reference convergence points")) +
      "plot $runs using 1:2 with points pt 7 ps 0.45 lc rgb '#a8a8a8' title 'reference run'";
  if (interpolate) {
    picture.script +=
        ", \\\n  $lines using 1:2 with lines lw 1.5 lc rgb '#0072b2' notitle"
        ", \\\n  $lines using 1:3 with lines lw 1.5 lc rgb '#d55e00' notitle";
  }
  picture.script +=
      ", \\\n  $judging using 1:2 with points pt 7 ps 0.8 lc rgb '#0072b2' title 'mean'"
      ", \\\n  $judging using 1:3 with points pt 9 ps 0.8 lc rgb '#d55e00' title 'least mean'";
  if (!dominated.empty()) {
    picture.script +=
        ", \\\n  $dominated using 1:2 with points pt 6 ps 0.8 lw 1.2 lc rgb '#0072b2' title "
        "'dominated'";
  }
  picture.script += '\n';
  return plot;
}

Plot plot_rcp(const ReferencePoints& points, const RcpBootstrap& bootstrap) {
  const auto bars = histogram(bootstrap.scores);
  std::string data = "$bars << EOD\n";
  size_t tallest = 1;
  for (const HistogramBar& bar : bars) {
    data +=
        fmt::format("{:.10g} {} {:.10g}\n", (bar.from + bar.to) / 2, bar.count, bar.to - bar.from);
    tallest = std::max(tallest, bar.count);
  }
  const RcpRow& point = bootstrap.point;
  Plot plot;
  plot.drawn = bootstrap.scores.size();
  Picture& picture = plot.picture;
  const NumberAxis x = NumberAxis::of(std::min(bars.front().from, point.least),
                                      std::max(bars.back().to, point.mean)),
                   y = NumberAxis::from_zero(static_cast<double>(tallest));
  const std::string what =
      fmt::format("batch size {:.10g}, {} scores of {} drawn runs, {:.2f} % below the least mean",
                  point.batch_size, bootstrap.scores.size(), bootstrap.submission_runs,
                  100 * bootstrap.below_least);
  const auto line = [](double at, std::string_view colour) {
    return fmt::format(
        "set arrow from {:.10g}, graph 0 to {:.10g}, graph 1 nohead front lw 2 lc rgb '#{}'\n", at, at,
        colour);
  };
  picture.script =
      data + "EOD\n" +
      frame(picture, x, y, rcp_unit(points.benchmark()) + " to converge", "scores",
            title_of(points, what)) +
      line(point.mean, "000000") + line(point.least, "d55e00") +
      "plot $bars using 1:2:3 with boxes fs solid 0.5 noborder lc rgb '#56b4e9' notitle"
      ", \\\n  NaN with lines lw 2 lc rgb '#000000' title 'reference mean'"
      ", \\\n  NaN with lines lw 2 lc rgb '#d55e00' title 'least mean'\n";
  return plot;
}

}  // namespace strata::results
