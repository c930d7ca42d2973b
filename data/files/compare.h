// Whether two data sets are the same, whatever their forms.
#pragma once

#include <optional>
#include <string>

#include "data/files/instance_file.h"

namespace strata::data {

// Where the samples of `a` and `b`, taken in order, first differ, as a sentence; none where all are
// equal in tokens, segments, masked positions and their tokens, and labels. Throws Error for a
// malformed sample.
std::optional<std::string> first_difference(const InstanceSource& a, const InstanceSource& b);

// Samples of two data sets, whatever their order. A sample that one of them has more often counts
// as often as it is missing in the other.
struct ContentDifference {
  uint64_t only_in_a = 0;
  uint64_t only_in_b = 0;
  std::optional<uint32_t> first_only_in_a;  // a sample's number
  std::optional<uint32_t> first_only_in_b;

  bool is_none() const { return only_in_a == 0 && only_in_b == 0; }
};

// Reads both data sets once and keeps 12 bytes a sample: samples are told apart by a hash of 64
// bits. Throws Error for a malformed sample.
ContentDifference compare_content(const InstanceSource& a, const InstanceSource& b);

// `found` in a line: "the same 64 samples in another order", or how many each of them lacks.
std::string to_text(const ContentDifference& found, const InstanceSource& a);

}  // namespace strata::data
