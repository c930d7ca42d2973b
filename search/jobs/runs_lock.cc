#include "search/jobs/runs_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "base/error.h"

namespace strata::search {

RunsLock::RunsLock(const std::filesystem::path& file, std::chrono::seconds patience,
                   const std::function<void()>& on_wait)
    : descriptor_(::open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
  constexpr auto kBetweenTries = std::chrono::milliseconds(50);
  if (descriptor_ < 0) fail("{}: cannot open: {}", file.string(), std::strerror(errno));
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (bool first = true; ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0; first = false) {
    if (errno != EWOULDBLOCK) return;  // the file system has no locks
    if (std::chrono::steady_clock::now() >= deadline) {
      ::close(descriptor_);
      fail("{}: runs of a killed search still use its folder; end them, or wait",
           file.parent_path().string());
    }
    if (first && on_wait) on_wait();
    std::this_thread::sleep_for(kBetweenTries);
  }
}

RunsLock::~RunsLock() { ::close(descriptor_); }

}  // namespace strata::search
