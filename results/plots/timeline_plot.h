// Draws a timeline of all ranks.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "drawing/picture.h"

namespace strata::results {

// The complete events of Chrome trace JSON, and the names of processes (ranks) and lanes.
struct TimelineTrace {
  struct Span {
    int process = 0, lane = 0;
    std::string name;
    double begin_ms = 0, end_ms = 0;
  };
  std::vector<Span> spans;
  std::map<int, std::string> processes;
  std::map<std::pair<int, int>, std::string> lanes;  // by (process, lane)
};

// Throws Error if the file is not such a trace, or has no span.
TimelineTrace read_timeline(const std::filesystem::path& path);

// Draws a row per lane, a box per span, and a colour per verb. With names in `within`, draws a
// panel per name on a common time axis: everything that overlaps the first rank's span of that
// name, except spans of that name. Otherwise draws all spans. Throws Error if no span has such a
// name, or there are too many spans to see.
drawing::Plot plot_timeline(const TimelineTrace& trace, const std::vector<std::string>& within);

}  // namespace strata::results
