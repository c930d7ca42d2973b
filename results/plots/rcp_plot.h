// Reference convergence points as numbers and as pictures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compliance/checks/rcp.h"
#include "drawing/picture.h"

namespace strata::results {

// The means that a batch size asks for.
struct RcpRow {
  double batch_size = 0;
  double mean = 0;   // olympic, of the reference runs
  double least = 0;  // below which a submission fails
  size_t runs = 0;   // 0: interpolated
};

// The points in order of their batch sizes; with `interpolate` every whole batch size from the
// least to the largest. Throws Error where those are more than a million.
std::vector<RcpRow> rcp_rows(const compliance::ReferencePoints& points, compliance::RcpPass pass,
                             bool interpolate);

// What submissions of the reference's own runs would score.
struct RcpBootstrap {
  RcpRow point;
  int submission_runs = 0;
  std::vector<double> scores;  // sorted; each the mean of so many runs, drawn with replacement,
                               // without the tenth (rounded up) at either end
  double below_least = 0;      // the share of scores that would fail
};

// Of a measured batch size: throws Error for another, and where too few runs are left.
RcpBootstrap rcp_bootstrap(const compliance::ReferencePoints& points, double batch_size,
                           uint64_t seed, size_t draws = 10'000);

struct HistogramBar {
  double from = 0, to = 0;
  size_t count = 0;
};
// In equal steps from the least to the most of sorted values.
std::vector<HistogramBar> histogram(const std::vector<double>& sorted);

// What the benchmark's points count.
std::string rcp_unit(std::string_view benchmark);

// "BS,Mean,Min" and a line a row, as the official viewer prints.
std::string rcp_csv(const std::vector<RcpRow>& rows, bool header);

// Each batch size's reference runs, mean and least mean; dominated points are hollow; with
// `interpolate` the lines that batch sizes between are judged by.
drawing::Plot plot_rcp(const compliance::ReferencePoints& points, compliance::RcpPass pass,
                       bool interpolate);
// The scores as a histogram, with the mean and the least mean.
drawing::Plot plot_rcp(const compliance::ReferencePoints& points, const RcpBootstrap& bootstrap);

}  // namespace strata::results
