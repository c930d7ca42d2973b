// An error on one of several ranks, reported before anything is destroyed.
#pragma once

#include <exception>
#include <utility>

#include "base/error.h"
#include "comm/communicator.h"

namespace strata::comm {

// Returns body(). If it throws a std::exception on one of several ranks, ends the job (see
// Communicator::end_job) before anything outside `body` is destroyed: releasing device memory may
// wait for a collective in which the other ranks wait. A single rank passes the exception on.
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
