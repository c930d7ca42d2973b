// How many samples of which length a data set has.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace strata::loadbalance {

struct LengthCount {
  int length = 0;  // tokens
  int64_t weight = 0;
};

// Reads lines "LENGTH WEIGHT", '#' starts a comment: length in [1, 65535], weight >= 0. Throws
// Error that names `source`, or the file, and the line.
std::vector<LengthCount> parse_length_histogram(const std::string& text, const std::string& source);
std::vector<LengthCount> read_length_histogram(const std::filesystem::path& path);

// That of MLPerf's BERT Wikipedia: bench/lengths/mlperf_wikipedia.txt.
std::vector<LengthCount> mlperf_wikipedia_histogram();

// `samples` lengths in the histogram's proportions to within one sample a length, shortest first.
std::vector<int32_t> lengths_in_proportion(const std::vector<LengthCount>& histogram,
                                           size_t samples);

}  // namespace strata::loadbalance
