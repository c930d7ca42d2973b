// Reads the events of a log.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/files/files.h"

namespace strata::harness {

inline std::vector<nlohmann::json> events_of(const std::filesystem::path& log) {
  std::vector<nlohmann::json> events;
  std::istringstream lines(read_file(log));
  for (std::string line; std::getline(lines, line);) {
    events.push_back(nlohmann::json::parse(line.substr(line.find('{'))));
  }
  return events;
}

}  // namespace strata::harness
