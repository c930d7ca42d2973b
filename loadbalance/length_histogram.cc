#include "loadbalance/length_histogram.h"

#include <algorithm>
#include <sstream>
#include <string>

#include "base/error.h"
#include "base/files.h"

namespace strata::loadbalance {

std::vector<LengthCount> parse_length_histogram(const std::string& text,
                                                const std::string& source) {
  std::istringstream file(text);
  std::vector<LengthCount> histogram;
  int64_t total = 0;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    std::istringstream row(line);
    LengthCount entry;
    std::string rest;
    if (!(row >> entry.length >> entry.weight) || row >> rest || entry.length < 1 ||
        entry.length > 65535 || entry.weight < 0 || entry.weight > int64_t{1} << 40) {
      fail("{}:{}: \"{}\" is not \"LENGTH WEIGHT\" with a length from 1 to 65535", source, number,
           line);
    }
    total += entry.weight;
    histogram.push_back(entry);
  }
  if (total == 0) fail("{}: holds no lengths", source);
  std::stable_sort(histogram.begin(), histogram.end(),
                   [](const auto& a, const auto& b) { return a.length < b.length; });
  return histogram;
}

std::vector<LengthCount> read_length_histogram(const std::filesystem::path& path) {
  return parse_length_histogram(read_file(path), path.string());
}

std::vector<int32_t> lengths_in_proportion(const std::vector<LengthCount>& histogram,
                                           size_t samples) {
  double total = 0, seen = 0;
  for (const LengthCount& entry : histogram) total += static_cast<double>(entry.weight);
  std::vector<int32_t> lengths;
  lengths.reserve(samples);
  for (const LengthCount& entry : histogram) {
    seen += static_cast<double>(entry.weight);
    const auto upto = static_cast<size_t>(static_cast<double>(samples) * (seen / total) + 0.5);
    if (upto > lengths.size()) lengths.resize(std::min(upto, samples), entry.length);
  }
  return lengths;
}

}  // namespace strata::loadbalance
