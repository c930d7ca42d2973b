// One job at a time writes the results of a system.
#pragma once

#include <filesystem>

namespace strata::harness {

// Held as long as the object lives, and never longer than the process, however that ends: a lock of
// the kernel on the directory (flock), which leaves no file behind. Where the file system has no
// locks it holds nothing; on a network file system it may be known to this machine alone.
class OutputLock {
 public:
  // Throws Error where another process holds it, and where the directory cannot be opened.
  explicit OutputLock(const std::filesystem::path& directory);
  ~OutputLock();
  OutputLock(OutputLock&& other) noexcept;
  OutputLock& operator=(OutputLock&& other) noexcept;

 private:
  int fd_ = -1;
};

}  // namespace strata::harness
