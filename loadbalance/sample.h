// A data set's samples, numbered by length for plans.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/numbers/cumulative_counts.h"
#include "loadbalance/length_histogram.h"

namespace strata::loadbalance {

// A sample's number with its length.
struct Sample {
  uint32_t number = 0;
  uint32_t length = 0;  // tokens

  bool operator==(const Sample&) const = default;
};

// The shortest samples have the first numbers, from 0. So a plan needs only a histogram of lengths,
// independent of the number of samples.
class SamplesByLength {
 public:
  // Throws Error for lengths that do not ascend or are outside [1, 65535], a negative weight, no
  // sample, or more than 2^32 - 1 samples.
  explicit SamplesByLength(std::span<const LengthCount> histogram);

  uint32_t size() const { return static_cast<uint32_t>(counts_.total()); }
  uint32_t longest() const { return lengths_.back(); }
  uint32_t length_of(uint32_t number) const { return lengths_[counts_.kind_of(number)]; }
  // Returns the number of samples with at most `length` tokens, which are the first.
  uint32_t up_to(uint32_t length) const;

 private:
  std::vector<uint32_t> lengths_;
  CumulativeCounts counts_;
};

// Writes the samples' numbers; both spans have the same size.
void write_numbers(std::span<const Sample> samples, std::span<uint32_t> numbers);

}  // namespace strata::loadbalance
