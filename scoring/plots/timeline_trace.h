// Reads timelines in Chrome trace JSON.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace strata::scoring {

// The complete events of Chrome trace JSON, and the names of processes (ranks) and lanes.
struct TimelineTrace {
  struct Span {
    int process = 0, lane = 0;
    std::string name;
    double begin_ms = 0, end_ms = 0;
  };
  std::string name;  // of the file
  std::vector<Span> spans;
  std::map<int, std::string> processes;
  std::map<std::pair<int, int>, std::string> lanes;  // by (process, lane)
};

// Throws Error if the file is not such a trace, or has no span.
TimelineTrace read_timeline(const std::filesystem::path& path);

}  // namespace strata::scoring
