// A timeline as a picture: what ranks did when.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "drawing/picture.h"

namespace strata::results {

// Of Chrome trace JSON: its complete events, and the names of processes (ranks) and lanes.
struct TimelineTrace {
  struct Span {
    int process = 0, lane = 0;
    std::string name;
    double begin_ms = 0, end_ms = 0;
  };
  std::vector<Span> spans;
  std::map<int, std::string> processes;
  std::map<std::pair<int, int>, std::string> lanes;  // of (process, lane)
};

// Throws Error where the file is no such trace, or has no span.
TimelineTrace read_timeline(const std::filesystem::path& path);

// A row a lane, a box a span, a colour a span's verb. With names in `within`, a panel for each of
// them, one under the other on one axis of time: what overlaps the span of that name, the first
// rank's, and is not of that name itself. Without, all there is. Throws Error where no span has
// such a name, or there are more spans than can be seen.
drawing::Plot plot_timeline(const TimelineTrace& trace, const std::vector<std::string>& within);

}  // namespace strata::results
