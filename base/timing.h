// Tools for measuring time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

namespace strata {

using Clock = std::chrono::steady_clock;

inline double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

inline double seconds_since(Clock::time_point begin) {
  return seconds_between(begin, Clock::now());
}

// Returns the time since the clock's epoch.
inline int64_t nanoseconds(Clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

// Returns the middle value, or the mean of the two middle ones. Requires at least one value.
inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

struct Quartiles {
  double lower = 0, median = 0, upper = 0;

  // Returns whether the quartiles are more than a tenth of the median apart. The median of a
  // repetition may then differ by as much.
  bool unsteady() const { return upper - lower > 0.1 * median; }
};

// Interpolates neither the lower nor the upper quartile. Requires at least one value.
inline Quartiles quartiles_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t last = values.size() - 1;
  return {.lower = values[last / 4], .median = median(values), .upper = values[last - last / 4]};
}

}  // namespace strata
