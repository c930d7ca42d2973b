// Reports an error on one of several ranks before anything is destroyed.
#pragma once

#include <exception>
#include <utility>

#include "base/error.h"
#include "comm/communicator.h"

namespace strata::comm {

// Returns body(). If it throws a std::exception on one of several ranks, ends the job (see
// Communicator::end_job) before anything outside `body` is destroyed: releasing device memory might
// block on a collective that the other ranks never finish. A single rank rethrows.
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
