// Number of samples of each length in a data set.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace strata::loadbalance {

struct LengthCount {
  int length = 0;  // tokens
  int64_t weight = 0;
};

// Appends to a histogram with ascending lengths. Adds to the last entry if that has the same
// length.
void append(std::vector<LengthCount>& histogram, const LengthCount& entry);

// Reads lines "LENGTH WEIGHT", with comments after '#': length in [1, 65535], weight >= 0. Weights
// of the same length add up. Returns ascending lengths. Throws Error naming `source`, or the file,
// and the line.
std::vector<LengthCount> parse_length_histogram(const std::string& text, const std::string& source);
std::vector<LengthCount> read_length_histogram(const std::filesystem::path& path);

// Returns the histogram of MLPerf's BERT Wikipedia: bench/lengths/mlperf_wikipedia.txt.
std::vector<LengthCount> mlperf_wikipedia_histogram();

// Returns the histogram of a data set with these lengths.
std::vector<LengthCount> histogram_of(std::span<const uint16_t> lengths);

// Scales the histogram to `samples` samples, with an error below one sample per length.
std::vector<LengthCount> in_proportion(std::span<const LengthCount> histogram, uint64_t samples);

}  // namespace strata::loadbalance
