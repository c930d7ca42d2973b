#include "harness/record/output_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace strata::harness {

OutputLock::OutputLock(const std::filesystem::path& directory)
    : fd_(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (fd_ < 0) fail("{}: cannot open: {}", directory.string(), std::strerror(errno));
  if (::flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(fd_);
    fail("{}: another job writes its results here; wait for it, or choose another run.output",
         directory.string());
  }
}

OutputLock::~OutputLock() {
  if (fd_ >= 0) ::close(fd_);
}

OutputLock::OutputLock(OutputLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

OutputLock& OutputLock::operator=(OutputLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

}  // namespace strata::harness
