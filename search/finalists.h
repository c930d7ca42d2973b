// Statistics of the finals, trial by trial: how certain the winner is.
#pragma once

#include <optional>
#include <vector>

#include "search/trial_log.h"

namespace strata::search {

struct Finalist {
  int trial = 0;
  Settings settings;
  int runs = 0, reached = 0;
  // Statistics of the runs that reached the target, in the objective's unit. The mean of five or
  // more is olympic, without the smallest and the largest.
  double mean = 0, median = 0, least = 0, most = 0;
  double accuracy = 0;  // mean over all runs that did not fail
  // Half the 95 % interval of the plain mean by Student's t; absent below two runs.
  std::optional<double> interval;
  // p-value of a one-sided t-test (equal variances) against trial 0. The null hypothesis is that
  // the finalist is not better. Absent for trial 0 itself, and if either has fewer than two runs
  // that reached the target.
  std::optional<double> p_value;
};

// Sorts best first: by how often they reached the target, then by mean, then by accuracy.
std::vector<Finalist> rank_finalists(const SearchPlan& plan, const TrialLog& log);

}  // namespace strata::search
