// Samples of a data set counted by length and masked positions, which is all that a plan needs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/numbers/cumulative_counts.h"

namespace strata::data {

// Samples of the same length and number of masked positions.
struct SampleClass {
  uint32_t length = 0;  // tokens
  uint32_t masked = 0;  // positions
  uint64_t count = 0;

  bool operator==(const SampleClass&) const = default;
};

// All classes of a data set, ordered by length, then by masked positions. A sample's sorted
// index is its number in that order.
class SampleClasses {
 public:
  SampleClasses() = default;
  // Requires that order; equal classes may follow each other.
  explicit SampleClasses(std::vector<SampleClass> classes);

  std::span<const SampleClass> all() const { return classes_; }
  uint64_t samples() const { return counts_.total(); }
  const SampleClass& of(uint64_t sorted_index) const {
    return classes_[counts_.kind_of(sorted_index)];
  }

 private:
  std::vector<SampleClass> classes_;
  CumulativeCounts counts_;
};

// Returns lines "LENGTH MASKED SAMPLES" after a line of column names that starts with '#'.
std::string to_text(const SampleClasses& classes);
// Reads such lines in any order, with comments after '#'. Throws Error naming the file and the
// line.
SampleClasses read_sample_classes(const std::filesystem::path& path);

}  // namespace strata::data
