// An error on one of several ranks, reported before anything is destroyed.
#pragma once

#include <exception>
#include <utility>

#include "base/error.h"
#include "comm/communicator.h"

namespace strata::comm {

// Runs `body` and returns what it returns. If it throws on one of several ranks, the job ends
// before anything outside of `body` is destroyed: device memory that collectives use cannot be
// released while other ranks do not come to them. A single rank passes the exception on.
template <typename Body>
auto end_job_on_error(Communicator& communicator, Body&& body) -> decltype(body()) {
  if (communicator.size() == 1) return std::forward<Body>(body)();
  try {
    return std::forward<Body>(body)();
  } catch (const std::exception& error) {
    communicator.end_job(message_of(error));
    throw;  // not reached
  }
}

}  // namespace strata::comm
