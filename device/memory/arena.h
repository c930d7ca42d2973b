// Flat arrays in device memory that may be held only in part.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/range.h"
#include "device/operations/tensor.h"

namespace strata::device {

// A view of a flat array of `size()` elements; never owns memory. A rank that keeps its shards
// stores them one after another. Runs that are not in memory at the same time may overlap there.
class Arena {
 public:
  // Consecutive elements of the array, and their start in memory.
  struct Run {
    Range range;
    int64_t place = 0;
  };

  Arena() = default;                                                 // absent
  Arena(const Tensor& whole);                                        // all elements
  Arena(const Tensor& memory, int64_t size, std::vector<Run> runs);  // runs ascend

  int64_t size() const { return size_; }
  const Tensor& memory() const { return memory_; }  // [1, elements that have their own memory]
  const std::vector<Run>& runs() const { return runs_; }
  explicit operator bool() const { return static_cast<bool>(memory_); }

  // Returns the start of `range` in memory, or -1 if it does not lie in one run.
  int64_t place_of(const Range& range) const;

 private:
  Tensor memory_;
  int64_t size_ = 0;
  std::vector<Run> runs_;
};

// Returns the elements `range` of the array; absent if `arena` is absent. Throws Error if they do
// not lie in one run.
Tensor elements_of(const Arena& arena, const Range& range);

// Returns runs that lie one after another in memory.
std::vector<Arena::Run> packed(std::span<const Range> ranges);
// Returns the number of elements in all ranges.
int64_t total_size(std::span<const Range> ranges);

}  // namespace strata::device
