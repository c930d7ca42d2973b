// A sample as plans handle it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace strata::loadbalance {

// Number and length travel together: looking lengths up at random would cost as much as a whole
// plan.
struct Sample {
  uint32_t number = 0;
  uint32_t length = 0;  // tokens

  bool operator==(const Sample&) const = default;
};

// All samples in order. Throws Error for a length outside [1, 65535].
std::vector<Sample> samples_of(std::span<const int32_t> lengths);

// Writes the samples' numbers; both have the same size.
void write_numbers(std::span<const Sample> samples, std::span<uint32_t> numbers);

}  // namespace strata::loadbalance
