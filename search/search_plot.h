// Pictures of a search.
#pragma once

#include "drawing/picture.h"
#include "search/trial_log.h"

namespace strata::search {

// Above, parallel coordinates: a line a trial over what was drawn for it and its accuracy on rung
// 0, the better the darker, the winner and the configuration as it is in colours of their own.
// Below, accuracy over seconds of every run. Throws Error where no run has been made.
drawing::Plot plot_search(const SearchPlan& plan, const TrialLog& log);

}  // namespace strata::search
