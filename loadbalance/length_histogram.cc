#include "loadbalance/length_histogram.h"

#include <algorithm>
#include <limits>
#include <sstream>
#include <string>

#include "base/error.h"
#include "base/files/files.h"
#include "base/files/lines.h"

namespace strata::loadbalance {

void append(std::vector<LengthCount>& histogram, const LengthCount& entry) {
  if (!histogram.empty() && histogram.back().length == entry.length) {
    histogram.back().weight += entry.weight;
  } else {
    histogram.push_back(entry);
  }
}

std::vector<LengthCount> parse_length_histogram(const std::string& text,
                                                const std::string& source) {
  std::istringstream file(text);
  std::vector<LengthCount> histogram;
  int64_t total = 0;
  int number = 0;
  for (std::string line; read_line(file, line);) {
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
  std::vector<LengthCount> merged;
  for (const LengthCount& entry : histogram) append(merged, entry);
  return merged;
}

std::vector<LengthCount> read_length_histogram(const std::filesystem::path& path) {
  return parse_length_histogram(read_file(path), path.string());
}

std::vector<LengthCount> histogram_of(std::span<const uint16_t> lengths) {
  std::vector<int64_t> counts(size_t{std::numeric_limits<uint16_t>::max()} + 1);
  for (const uint16_t length : lengths) ++counts[length];
  std::vector<LengthCount> histogram;
  for (size_t length = 0; length < counts.size(); ++length) {
    if (counts[length] > 0) histogram.push_back({static_cast<int>(length), counts[length]});
  }
  return histogram;
}

std::vector<LengthCount> in_proportion(std::span<const LengthCount> histogram, uint64_t samples) {
  double total = 0, seen = 0;
  for (const LengthCount& entry : histogram) total += static_cast<double>(entry.weight);
  std::vector<LengthCount> result;
  uint64_t before = 0;
  for (const LengthCount& entry : histogram) {
    seen += static_cast<double>(entry.weight);
    const auto up_to = std::min(
        static_cast<uint64_t>(static_cast<double>(samples) * (seen / total) + 0.5), samples);
    if (up_to <= before) continue;
    result.push_back({entry.length, static_cast<int64_t>(up_to - before)});
    before = up_to;
  }
  return result;
}

}  // namespace strata::loadbalance
