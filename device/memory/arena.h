// Flat arrays in device memory of which there may be parts only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/range.h"
#include "device/operations/tensor.h"

namespace strata::device {

// A flat array of `size()` elements: views of memory that somebody else owns, never an owner. A
// rank that keeps its shards has them one after another; runs that are in memory by turns may have
// the same place.
class Arena {
 public:
  // Elements of the array that lie together, and where in memory they begin.
  struct Run {
    Range range;
    int64_t place = 0;
  };

  Arena() = default;                                                 // absent
  Arena(const Tensor& whole);                                        // all elements
  Arena(const Tensor& memory, int64_t size, std::vector<Run> runs);  // runs rise

  int64_t size() const { return size_; }
  const Tensor& memory() const { return memory_; }  // [1, elements that have memory of their own]
  const std::vector<Run>& runs() const { return runs_; }
  explicit operator bool() const { return static_cast<bool>(memory_); }

  // Where `range` begins in memory; -1 where it does not lie in one run.
  int64_t place_of(const Range& range) const;

 private:
  Tensor memory_;
  int64_t size_ = 0;
  std::vector<Run> runs_;
};

// The elements `range` of the array; absent where it is. Throws Error where they do not lie in one
// run.
Tensor elements_of(const Arena& arena, const Range& range);

// Runs one after another in memory.
std::vector<Arena::Run> packed(std::span<const Range> ranges);
// Elements of all ranges together.
int64_t total_size(std::span<const Range> ranges);

}  // namespace strata::device
