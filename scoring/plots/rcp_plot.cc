#include "scoring/plots/rcp_plot.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/numbers/random.h"
#include "base/text/counts.h"
#include "compliance/checks/rounds.h"
#include "compliance/package/scaling.h"
#include "drawing/chart.h"
#include "scoring/plots/plot_parts.h"

namespace strata::scoring {
namespace {

using compliance::convergence_unit;
using compliance::RcpPass;
using compliance::ReferencePoint;
using compliance::ReferencePoints;
using drawing::Owner;
using drawing::Shape;

RcpRow row_of(const ReferencePoint& point) {
  return {point.batch_size, point.mean, point.least_mean, point.epochs.size()};
}

const std::vector<ReferencePoint>& points_of(const ReferencePoints& points, RcpPass pass) {
  return pass == RcpPass::kPruned ? points.pruned() : points.full();
}

// Interpolates between two points.
RcpRow row_at(const ReferencePoints& points, const std::vector<ReferencePoint>& known,
              double batch_size) {
  const auto high = std::lower_bound(
      known.begin(), known.end(), batch_size,
      [](const ReferencePoint& point, double wanted) { return point.batch_size < wanted; });
  if (high->batch_size == batch_size) return row_of(*high);
  return row_of(points.interpolate(batch_size, *std::prev(high), *high));
}

// Returns positions along the axis from point to point, for a line.
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

std::string title_of(const ReferencePoints& points, std::string_view what) {
  return fmt::format("{}, MLPerf {}: {}", drawing::shortened(points.benchmark(), 40),
                     round_in_short(std::string(points.ruleset())), what);
}

}  // namespace

std::vector<RcpRow> rcp_rows(const ReferencePoints& points, RcpPass pass, bool interpolate) {
  const auto& known = points_of(points, pass);
  std::vector<RcpRow> rows;
  if (!interpolate) {
    for (const ReferencePoint& point : known) rows.push_back(row_of(point));
    return rows;
  }
  constexpr double kMostBatchSizes = 1e6;
  const double first = known.front().batch_size, last = known.back().batch_size;
  if (!(last - first < kMostBatchSizes))
    fail("{}: {} batch sizes are too many to interpolate", points.source(), last - first + 1);
  for (double batch_size = first; batch_size <= last; ++batch_size)
    rows.push_back(row_at(points, known, batch_size));
  return rows;
}

RcpBootstrap rcp_bootstrap(const ReferencePoints& points, double batch_size, uint64_t seed,
                           size_t draws) {
  const auto& known = points.full();
  const auto found = std::ranges::find(known, batch_size, &ReferencePoint::batch_size);
  if (found == known.end()) {
    fail("{}: batch size {:.10g} has no reference point; the points are at: {}", points.source(),
         batch_size,
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
    fail("{}: none of {} is left after the extremes are dropped", points.source(),
         counted(runs, "run"));
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
  // Takes the finer of the rules of Sturges and of Freedman and Diaconis.
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

std::string rcp_csv(const std::vector<RcpRow>& rows, bool header) {
  std::string text = header ? "BS,Mean,Min\n" : "";
  for (const RcpRow& row : rows) {
    text += fmt::format("{},{},{}\n", row.batch_size, compliance::python_float(row.mean),
                        compliance::python_float(row.least));
  }
  return text;
}

drawing::Plot plot_rcp(const ReferencePoints& points, RcpPass pass, bool interpolate) {
  constexpr int kMean = 0, kLeast = 1;  // colours
  const auto& known = points_of(points, pass);
  drawing::Chart chart;
  std::vector<drawing::Point> means;
  std::vector<double> batch_sizes, values;
  bool has_dominated = false;
  for (const ReferencePoint& point : points.full()) {
    const RcpRow row = row_of(point);
    const bool judges =
        std::ranges::find(known, point.batch_size, &ReferencePoint::batch_size) != known.end();
    const auto add_mean = [&](int colour, double value, Shape shape) {
      means.push_back({.owner = Owner::coloured(colour),
                       .x = row.batch_size,
                       .y = value,
                       .tip = fmt::format("batch size {:.10g}: {:.10g}", row.batch_size, value),
                       .shape = shape});
    };
    add_mean(kMean, row.mean, judges ? Shape::kDot : Shape::kHollow);
    if (judges) add_mean(kLeast, row.least, Shape::kTriangle);
    has_dominated = has_dominated || !judges;
    batch_sizes.push_back(row.batch_size);
    values.insert(values.end(), {row.mean, row.least});
    for (const double value : point.epochs) {
      values.push_back(value);
      chart.points.push_back({.owner = Owner(),
                              .x = row.batch_size,
                              .y = value,
                              .tip = "",
                              .shape = Shape::kSmallDot});
    }
  }
  chart.points.insert(chart.points.end(), means.begin(), means.end());
  if (interpolate) {
    drawing::Line mean{.owner = Owner::coloured(kMean), .points = {}, .bold = true, .tip = ""},
        least{.owner = Owner::coloured(kLeast), .points = {}, .bold = true, .tip = ""};
    for (const RcpRow& row : line_rows(points, known)) {
      mean.points.emplace_back(row.batch_size, row.mean);
      least.points.emplace_back(row.batch_size, row.least);
    }
    chart.lines = {mean, least};
  }
  chart.legend = {{Shape::kSmallDot, -1, "reference run"},
                  {Shape::kDot, kMean, "mean"},
                  {Shape::kTriangle, kLeast, "least allowed mean"}};
  if (has_dominated) chart.legend.push_back({Shape::kHollow, kMean, "dominated"});
  chart.x = drawing::time_axis(batch_sizes);
  chart.y = drawing::linear_axis(values, false, 0.1);
  chart.x_title = "global batch size";
  chart.y_title = convergence_unit(points.benchmark()) + " to converge";
  chart.width = drawing::kFileWidth;
  return {.picture =
              drawing::titled(title_of(points, "reference convergence points"), {xy_chart(chart)}),
          .drawn = points.full().size(),
          .left_out = {}};
}

drawing::Plot plot_rcp(const ReferencePoints& points, const RcpBootstrap& bootstrap) {
  constexpr int kMean = 0, kLeast = 1;  // colours
  const RcpRow& point = bootstrap.point;
  drawing::Chart chart;
  std::vector<double> scores = {point.mean, point.least}, counts;
  for (const HistogramBar& bar : histogram(bootstrap.scores)) {
    chart.columns.push_back({bar.from, bar.to, static_cast<double>(bar.count)});
    counts.push_back(static_cast<double>(bar.count));
    scores.insert(scores.end(), {bar.from, bar.to});
  }
  chart.uprights = {{point.mean, kMean}, {point.least, kLeast}};
  chart.legend = {{Shape::kLine, kMean, "reference mean"},
                  {Shape::kLine, kLeast, "least allowed mean"}};
  chart.x = drawing::linear_axis(scores, false, 0.1);
  chart.y = drawing::linear_axis(counts, true);
  chart.x_title = convergence_unit(points.benchmark()) + " to converge";
  chart.y_title = "scores";
  chart.width = drawing::kFileWidth;
  const std::string what = fmt::format(
      "batch size {:.10g}, {} scores of {} drawn runs; {:.2f} % of the scores are below the least "
      "allowed mean",
      point.batch_size, bootstrap.scores.size(), bootstrap.submission_runs,
      100 * bootstrap.below_least);
  return {.picture = drawing::titled(title_of(points, what), {xy_chart(chart)}),
          .drawn = bootstrap.scores.size(),
          .left_out = {}};
}

}  // namespace strata::scoring
