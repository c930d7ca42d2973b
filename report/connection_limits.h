// Limits the number of a server's connections and the time of a request.
#pragma once

#include <chrono>
#include <cstddef>

namespace strata::report {

struct ConnectionLimits {
  size_t most_connections = 128;
  size_t most_per_client = 64;  // connections from one address
  // Time from a connection's start, or the end of its last answer, until a request's whole header
  // has arrived.
  std::chrono::milliseconds request_timeout{10'000};
  std::chrono::milliseconds answer_timeout{120'000};  // time until the client has read the answer
};

}  // namespace strata::report
