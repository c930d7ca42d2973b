// Draws a timeline of all ranks.
#pragma once

#include <string>
#include <vector>

#include "drawing/picture.h"
#include "results/plots/timeline_trace.h"

namespace strata::results {

// Draws a row per lane, a box per span, and a colour per verb. With names in `within`, draws a
// panel per name on a common time axis: everything that overlaps the first rank's span of that
// name, except spans of that name. Otherwise draws all spans. Throws Error if no span has such a
// name, or there are too many spans to see.
drawing::Plot plot_timeline(const TimelineTrace& trace, const std::vector<std::string>& within);

}  // namespace strata::results
