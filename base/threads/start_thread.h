// Starts a thread, or says what to do if the system has no further one.
#pragma once

#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"

namespace strata {

// Returns a thread that calls body(). Throws Error if there is no further thread: `problem` begins
// the message, as in "cannot start a thread that reads batches".
template <typename Thread = std::thread, typename Body>
Thread start_thread(std::string_view problem, Body&& body) {
  try {
    return Thread(std::forward<Body>(body));
  } catch (const std::system_error& error) {
    fail("{}: {}; allow more processes (ulimit -u)", problem, error.what());
  }
}

}  // namespace strata
