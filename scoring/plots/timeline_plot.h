// Draws a timeline of all ranks.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "drawing/picture.h"
#include "scoring/plots/timeline_trace.h"

namespace strata::scoring {

// Draws a row per lane, a box per span, and a colour per verb, in a panel per trace on a common
// time axis. With names in `within`, draws a panel per name: everything that overlaps the first
// rank's span of that name, except spans of that name, in the first trace that has it. Throws Error
// if no span has such a name, or there are too many spans to see.
drawing::Plot plot_timeline(std::span<const TimelineTrace> traces,
                            const std::vector<std::string>& within);

}  // namespace strata::scoring
