// A data set's samples as plans handle them: numbered by length.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/numbers/cumulative_counts.h"
#include "loadbalance/length_histogram.h"

namespace strata::loadbalance {

// Number and length travel together.
struct Sample {
  uint32_t number = 0;
  uint32_t length = 0;  // tokens

  bool operator==(const Sample&) const = default;
};

// The shortest samples have the first numbers, from 0: a histogram of lengths is all that a plan
// needs to know, however many samples there are.
class SamplesByLength {
 public:
  // Throws Error for lengths that do not rise or are outside [1, 65535], a negative weight, no
  // sample and more than 2^32 - 1.
  explicit SamplesByLength(std::span<const LengthCount> histogram);

  uint32_t size() const { return static_cast<uint32_t>(counts_.total()); }
  uint32_t longest() const { return lengths_.back(); }
  uint32_t length_of(uint32_t number) const { return lengths_[counts_.kind_of(number)]; }
  // How many have at most `length` tokens: these are the first.
  uint32_t up_to(uint32_t length) const;

 private:
  std::vector<uint32_t> lengths_;
  CumulativeCounts counts_;
};

// Writes the samples' numbers; both have the same size.
void write_numbers(std::span<const Sample> samples, std::span<uint32_t> numbers);

}  // namespace strata::loadbalance
