// Maps a number to its kind, where kinds have consecutive ranges of numbers.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace strata {

// Kind 0 has the numbers below its count, kind 1 the following ones, and so on.
class CumulativeCounts {
 public:
  CumulativeCounts() = default;
  explicit CumulativeCounts(std::span<const uint64_t> counts) {
    ends_.reserve(counts.size());
    for (const uint64_t count : counts) ends_.push_back(total() + count);
    shift_ = std::max(0, static_cast<int>(std::bit_width(total())) - kSectionBits);
    size_t kind = 0;
    for (uint64_t number = 0; number < total(); number += uint64_t{1} << shift_) {
      while (number >= ends_[kind]) ++kind;
      first_.push_back(static_cast<uint32_t>(kind));
    }
  }

  uint64_t total() const { return ends_.empty() ? 0 : ends_.back(); }
  // Returns the number of numbers in kinds before `kind`, which may be one past the last.
  uint64_t before(size_t kind) const { return kind == 0 ? 0 : ends_[kind - 1]; }
  // Returns the kind of a number below total(): one table look-up and rarely more steps.
  size_t kind_of(uint64_t number) const {
    size_t kind = first_[number >> shift_];
    while (number >= ends_[kind]) ++kind;
    return kind;
  }

 private:
  static constexpr int kSectionBits = 12;

  std::vector<uint64_t> ends_;
  std::vector<uint32_t> first_;  // kind of the first number in each section of 2^shift_
  int shift_ = 0;
};

}  // namespace strata
