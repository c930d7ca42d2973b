// Waiting for child processes.
#pragma once

#include <sys/types.h>
#include <sys/wait.h>

#include <cerrno>
#include <optional>

namespace strata {

// Waits until `child` has ended. Returns its status, as waitpid() gives it, or nullopt, with errno,
// if nothing is known of it.
inline std::optional<int> wait_for(pid_t child) {
  int status = 0;
  pid_t ended = 0;
  do {
    ended = ::waitpid(child, &status, 0);
  } while (ended < 0 && errno == EINTR);
  return ended == child ? std::optional(status) : std::nullopt;
}

}  // namespace strata
