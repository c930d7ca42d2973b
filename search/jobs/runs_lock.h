// Whether runs of a search still go on, though the search itself was killed.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>

namespace strata::search {

// Held by a search and, as they inherit its descriptor, by what it starts, until the last of them
// has ended: a lock of the kernel on a file (flock). Where the file system has none it holds
// nothing.
class RunsLock {
 public:
  // `file` is there. Where runs of an earlier search hold it, calls `on_wait` once, and waits for
  // their end. Throws Error where they have not ended after `patience`.
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
