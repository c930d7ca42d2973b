#include "data/files/sample_classes.h"

#include <algorithm>
#include <sstream>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/files/files.h"
#include "base/files/lines.h"

namespace strata::data {
namespace {

std::vector<uint64_t> counts_of(std::span<const SampleClass> classes) {
  std::vector<uint64_t> counts;
  for (const SampleClass& alike : classes) counts.push_back(alike.count);
  return counts;
}

}  // namespace

SampleClasses::SampleClasses(std::vector<SampleClass> classes)
    : classes_(std::move(classes)), counts_(counts_of(classes_)) {}

std::string to_text(const SampleClasses& classes) {
  std::string text = "# length in tokens, masked positions, samples\n";
  for (const auto& [length, masked, count] : classes.all()) {
    text += fmt::format("{} {} {}\n", length, masked, count);
  }
  return text;
}

SampleClasses read_sample_classes(const std::filesystem::path& path) {
  constexpr int64_t kMostTokens = UINT16_MAX, kMostSamples = UINT32_MAX;
  std::istringstream file(read_file(path));
  std::vector<SampleClass> classes;
  int64_t samples = 0;
  int number = 0;
  for (std::string line; read_line(file, line);) {
    ++number;
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    std::istringstream row(line);
    int64_t length = 0, masked = 0, count = 0;
    std::string rest;
    const bool is_row = row >> length >> masked >> count && !(row >> rest);
    if (!is_row || length < 1 || length > kMostTokens || masked < 0 || masked > length ||
        count < 1 || count > kMostSamples - samples) {
      fail(
          "{}:{}: \"{}\" is not \"LENGTH MASKED SAMPLES\" with a length from 1 to {}; 'strata data "
          "shapes' makes such a file",
          path.string(), number, line, kMostTokens);
    }
    samples += count;
    classes.push_back({static_cast<uint32_t>(length), static_cast<uint32_t>(masked),
                       static_cast<uint64_t>(count)});
  }
  if (classes.empty()) fail("{}: holds no samples", path.string());
  std::ranges::stable_sort(
      classes, {}, [](const SampleClass& alike) { return std::tuple(alike.length, alike.masked); });
  return SampleClasses(std::move(classes));
}

}  // namespace strata::data
