// How many samples of which length a data set has.
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

// Adds to a histogram whose lengths rise: to its last entry where that is of the same length.
void append(std::vector<LengthCount>& histogram, const LengthCount& entry);

// Reads lines "LENGTH WEIGHT", '#' starts a comment: length in [1, 65535], weight >= 0; several
// lines of a length add up, and lengths rise in what is returned. Throws
// Error that names `source`, or the file, and the line.
std::vector<LengthCount> parse_length_histogram(const std::string& text, const std::string& source);
std::vector<LengthCount> read_length_histogram(const std::filesystem::path& path);

// That of MLPerf's BERT Wikipedia: bench/lengths/mlperf_wikipedia.txt.
std::vector<LengthCount> mlperf_wikipedia_histogram();

// Of a data set whose samples have these lengths.
std::vector<LengthCount> histogram_of(std::span<const uint16_t> lengths);

// The same proportions of `samples` samples, to within one sample a length.
std::vector<LengthCount> in_proportion(std::span<const LengthCount> histogram, uint64_t samples);

}  // namespace strata::loadbalance
