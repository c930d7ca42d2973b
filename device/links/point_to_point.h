// Device memory that goes from one rank to another, beside Stream::kCompute.
#pragma once

#include <cstddef>

namespace strata::device {

// Between two ranks, as many bytes are received as are sent, in the same order.
class PointToPoint {
 public:
  virtual ~PointToPoint() = default;

  // Names a message until it is waited for, once.
  using Ticket = size_t;
  // Begins to send what Stream::kCompute has left in `data` so far. It may be read, but not
  // overwritten until it is waited for.
  virtual Ticket send(const void* data, size_t bytes, int to) = 0;
  // Begins to receive into `data`, which Stream::kCompute has been given its last work on.
  virtual Ticket receive(void* data, size_t bytes, int from) = 0;
  // What Stream::kCompute is given from now on finds received what was to be received, and may
  // overwrite what was sent. The host may or may not wait.
  virtual void wait(Ticket ticket) = 0;
};

}  // namespace strata::device
