// Makes sure that one job at a time writes the results of a system.
#pragma once

#include <filesystem>

namespace strata::harness {

// A kernel lock (flock) on the directory. It is held while the object lives, ends with the process,
// and leaves no file behind. On a file system without locks it does nothing; on a network file
// system only this machine may see it.
class OutputLock {
 public:
  // Throws Error if another process holds the lock, or the directory cannot be opened.
  explicit OutputLock(const std::filesystem::path& directory);
  ~OutputLock();
  OutputLock(OutputLock&& other) noexcept;
  OutputLock& operator=(OutputLock&& other) noexcept;

 private:
  int fd_ = -1;
};

}  // namespace strata::harness
