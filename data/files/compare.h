// Compares data sets, possibly of different forms.
#pragma once

#include <optional>
#include <string>

#include "data/files/instance_file.h"

namespace strata::data {

// Describes the first difference between the samples of `a` and `b`, taken in order; nullopt if all
// are equal in tokens, segments, masked positions and their tokens, and labels. Throws Error for a
// malformed sample.
std::optional<std::string> first_difference(const InstanceSource& a, const InstanceSource& b);

// Differences of two data sets regardless of order. A repeated sample counts once for each copy
// that the other data set lacks.
struct ContentDifference {
  uint64_t only_in_a = 0;
  uint64_t only_in_b = 0;
  std::optional<uint32_t> first_only_in_a;  // number of the sample
  std::optional<uint32_t> first_only_in_b;

  bool is_none() const { return only_in_a == 0 && only_in_b == 0; }
};

// Reads both data sets once and keeps 12 bytes per sample: samples are compared by a 64-bit hash.
// Throws Error for a malformed sample.
ContentDifference compare_content(const InstanceSource& a, const InstanceSource& b);

// Describes the result on a line: "the same 64 samples in another order", or how many samples each
// data set lacks.
std::string to_text(const ContentDifference& found, const InstanceSource& a);

}  // namespace strata::data
