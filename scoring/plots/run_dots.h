// The runs of a score as dots, in pictures and in reports.
#pragma once

#include <vector>

#include "drawing/rows.h"
#include "scoring/score.h"

namespace strata::scoring {

struct RunDot {
  const RunScore* run;
  drawing::Dot dot;  // its value is the run's minutes times the factor on the score
};
// Returns the runs that have a time, by kind: in the mean, left out of the olympic mean, or not
// counting.
std::vector<RunDot> run_dots(const Score& score);

// Returns the legend of dots with these shapes, and of the mark of a score.
std::vector<drawing::Key> run_dot_keys(const std::vector<drawing::Shape>& shapes);

}  // namespace strata::scoring
