// Pictures of a search.
#pragma once

#include "drawing/picture.h"
#include "search/trial_log.h"

namespace strata::search {

// Draws parallel coordinates above: a line per trial over its drawn settings and its accuracy on
// rung 0. Better ones are darker; the winner and the unchanged configuration have colours of their
// own. Draws accuracy over seconds of every run below. Throws Error if no run has been made.
drawing::Plot plot_search(const SearchPlan& plan, const TrialLog& log);

}  // namespace strata::search
