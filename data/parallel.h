// Work split into consecutive ranges over threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <future>
#include <thread>
#include <vector>

namespace strata::data {

// `asked`, or one for each core where that is 0.
inline unsigned thread_count(unsigned asked) {
  return asked > 0 ? asked : std::max(1u, std::thread::hardware_concurrency());
}

// Cuts [0, count) into at most `threads` consecutive ranges and returns work(begin, end) of each,
// in order. Rethrows the first error, after all threads have ended.
template <typename Result, typename Work>
std::vector<Result> map_ranges(size_t count, unsigned threads, const Work& work) {
  const size_t parts = std::clamp<size_t>(threads, 1, std::max<size_t>(count, 1));
  std::vector<std::future<Result>> pending;
  for (size_t part = 0; part < parts; ++part) {
    pending.push_back(
        std::async(std::launch::async, work, count * part / parts, count * (part + 1) / parts));
  }
  std::vector<Result> results;
  for (auto& result : pending) results.push_back(result.get());
  return results;
}

}  // namespace strata::data
