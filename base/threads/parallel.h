// Distributes work over threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/threads/first_error.h"
#include "base/threads/processors.h"

namespace strata {

// Returns `asked`, or the number of processors that this process may use if that is 0.
inline unsigned thread_count(unsigned asked) {
  return asked > 0 ? asked : static_cast<unsigned>(usable_processors());
}

// Calls work(i) for every i in [0, count) on up to `threads` threads (0: see thread_count), in any
// order. Rethrows the first exception after all threads have stopped. If fewer threads can be
// started, these do all the work.
template <typename Work>
void parallel_for(size_t count, unsigned threads, Work work) {
  threads = thread_count(threads);
  std::atomic<size_t> next{0};
  FirstError error;
  const auto run = [&] {
    for (size_t i = next++; i < count && !error.thrown(); i = next++) {
      error.guard([&] { work(i); });
    }
  };
  std::vector<std::thread> helpers;
  helpers.reserve(std::min<size_t>(threads, count));
  try {
    for (unsigned i = 1; i < threads && i < count; ++i) helpers.emplace_back(run);
  } catch (const std::exception&) {  // too many threads, or out of memory
  }
  run();
  for (std::thread& helper : helpers) helper.join();
  error.rethrow();
}

// Cuts [0, count) into at most `threads` consecutive ranges and returns work(begin, end) for each,
// in order. Errors and threads are as in parallel_for.
template <typename Result, typename Work>
std::vector<Result> map_ranges(size_t count, unsigned threads, const Work& work) {
  const size_t parts = std::clamp<size_t>(threads, 1, std::max<size_t>(count, 1));
  std::vector<std::optional<Result>> made(parts);
  parallel_for(parts, static_cast<unsigned>(parts), [&](size_t part) {
    made[part].emplace(work(count * part / parts, count * (part + 1) / parts));
  });
  std::vector<Result> results;
  for (auto& result : made) results.push_back(std::move(*result));
  return results;
}

}  // namespace strata
