// Detects runs of a search that go on after the search itself was killed.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>

namespace strata::search {

// A kernel lock (flock) on a file. The search and its child processes, which inherit its
// descriptor, hold it until the last of them has ended. Does nothing on a file system without
// locks.
class RunsLock {
 public:
  // `file` must exist. If runs of an earlier search hold the lock, calls `on_wait` once and waits
  // for their end. Throws Error if they have not ended after `patience`.
  RunsLock(const std::filesystem::path& file, std::chrono::seconds patience,
           const std::function<void()>& on_wait);
  ~RunsLock();
  RunsLock(const RunsLock&) = delete;
  RunsLock& operator=(const RunsLock&) = delete;

  int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

}  // namespace strata::search
