// Messages between ranks in device memory, concurrent with Stream::kCompute.
#pragma once

#include <cstddef>

namespace strata::device {

// Two ranks must send and receive the same number of bytes in the same order.
class PointToPoint {
 public:
  virtual ~PointToPoint() = default;

  // Identifies a message until wait(), which is called once for each.
  using Ticket = size_t;
  // Starts to send `data` after the work given to Stream::kCompute so far. `data` may be read, but
  // not overwritten, until wait().
  virtual Ticket send(const void* data, size_t bytes, int to) = 0;
  // Starts to receive into `data`, after the work given to Stream::kCompute so far.
  virtual Ticket receive(void* data, size_t bytes, int from) = 0;
  // Makes later work on Stream::kCompute see received data; such work may overwrite sent data. The
  // host may or may not wait.
  virtual void wait(Ticket ticket) = 0;
};

}  // namespace strata::device
