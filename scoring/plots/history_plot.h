// Draws comparisons of builds over time.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drawing/picture.h"

namespace strata::scoring {

// A line that scripts/bench.sh appends: two builds that ran in turns.
struct BuildComparison {
  struct Number {
    double ratio = 1;  // the new build's number over the old build's
    std::optional<std::pair<double, double>> interval;
  };
  std::string date, old_commit, new_commit, processor;
  std::map<std::string, Number> numbers;  // by name
};

// Reads files with one JSON object per line. Throws Error with file and line.
std::vector<BuildComparison> read_build_comparisons(
    const std::vector<std::filesystem::path>& paths);

// Draws a chart per number with a row per comparison: the difference and its interval. Draws only
// numbers whose name contains one of `only`, unless it is empty. Throws Error if nothing is left to
// draw, or more than one picture can show.
drawing::Plot plot_history(const std::vector<BuildComparison>& comparisons,
                           const std::vector<std::string>& only);

}  // namespace strata::scoring
