#include "scoring/plots/run_dots.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "scoring/minutes.h"

namespace strata::scoring {

using drawing::Shape;

std::vector<RunDot> run_dots(const Score& score) {
  const std::vector<bool> in_mean = runs_in_mean(score);
  std::vector<RunDot> dots;
  for (size_t i = 0; i < score.runs.size(); ++i) {
    const RunScore& run = score.runs[i];
    if (!run.duration_ms || !(*run.duration_ms > 0)) continue;
    const double minutes = *run.duration_ms * score.committee_scaling / kMsPerMinute;
    dots.push_back({&run,
                    {minutes,
                     !run.counts  ? Shape::kCross
                     : in_mean[i] ? Shape::kDot
                                  : Shape::kHollow,
                     fmt::format("{}: {:.4g} min{}", run.log.filename().string(), minutes,
                                 run.counts ? "" : ", does not count: " + run.reason)}});
  }
  return dots;
}

std::vector<drawing::Key> run_dot_keys(const std::vector<Shape>& shapes) {
  const std::pair<Shape, const char*> kKinds[] = {
      {Shape::kDot, "run"},
      {Shape::kHollow, "run that the olympic mean drops"},
      {Shape::kCross, "run that does not count"}};
  std::vector<drawing::Key> keys = {{Shape::kUpright, -1, "score"}};
  for (const auto& [shape, text] : kKinds) {
    if (std::ranges::count(shapes, shape) > 0) keys.push_back({shape, -1, text});
  }
  return keys;
}

}  // namespace strata::scoring
