// Reference convergence points as numbers and as pictures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compliance/checks/rcp.h"
#include "drawing/picture.h"

namespace strata::scoring {

// The means that a batch size must meet.
struct RcpRow {
  double batch_size = 0;
  double mean = 0;   // olympic mean of the reference runs
  double least = 0;  // a submission below this mean fails
  size_t runs = 0;   // 0: interpolated
};

// Returns the points in order of their batch sizes, or with `interpolate` every whole batch size
// from the least to the largest. Throws Error if these are more than a million.
std::vector<RcpRow> rcp_rows(const compliance::ReferencePoints& points, compliance::RcpPass pass,
                             bool interpolate);

// The scores that submissions of the reference's own runs would get.
struct RcpBootstrap {
  RcpRow point;
  int submission_runs = 0;
  // Sorted. Each score is the mean of so many runs, drawn with replacement, without the tenth
  // (rounded up) at either end.
  std::vector<double> scores;
  double below_least = 0;  // share of scores that would fail
};

// Requires a measured batch size: throws Error for another, or if too few runs are left.
RcpBootstrap rcp_bootstrap(const compliance::ReferencePoints& points, double batch_size,
                           uint64_t seed, size_t draws = 10'000);

struct HistogramBar {
  double from = 0, to = 0;
  size_t count = 0;
};
// Divides sorted values in equal steps from the least to the most.
std::vector<HistogramBar> histogram(const std::vector<double>& sorted);

// Returns "BS,Mean,Min" and one line per row, as the official viewer prints.
std::string rcp_csv(const std::vector<RcpRow>& rows, bool header);

// Draws each batch size's reference runs, mean and least mean. Dominated points are hollow. With
// `interpolate` also draws the lines for the batch sizes between.
drawing::Plot plot_rcp(const compliance::ReferencePoints& points, compliance::RcpPass pass,
                       bool interpolate);
// Draws the scores as a histogram, with the mean and the least mean.
drawing::Plot plot_rcp(const compliance::ReferencePoints& points, const RcpBootstrap& bootstrap);

}  // namespace strata::scoring
