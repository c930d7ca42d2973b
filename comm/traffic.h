// Counts the bytes that a rank sends to others.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/range.h"
#include "device/operations/dtype.h"

namespace strata::comm {

// Bytes that a rank sends for `count` elements. In a reduce-scatter it sends every other rank its
// shard; in an all-gather it sends its own shard to every other rank. With equal shards, both send
// (ranks - 1) / ranks of the data, as a ring does.
inline int64_t reduce_scatter_bytes(int64_t count, device::DType dtype, int rank, int ranks) {
  const Range own = shard_of(count, rank, ranks);
  return (count - own.size()) * static_cast<int64_t>(size_of(dtype));
}
inline int64_t all_gather_bytes(int64_t count, device::DType dtype, int rank, int ranks) {
  const Range own = shard_of(count, rank, ranks);
  return own.size() * (ranks - 1) * static_cast<int64_t>(size_of(dtype));
}

// Bytes that a rank has sent, without maxima, sums of integers and broadcasts. Thread-safe.
class Traffic {
 public:
  void add_reduce_scatter(int64_t count, device::DType dtype, int rank, int ranks) {
    bytes_ += reduce_scatter_bytes(count, dtype, rank, ranks);
  }
  void add_all_gather(int64_t count, device::DType dtype, int rank, int ranks) {
    bytes_ += all_gather_bytes(count, dtype, rank, ranks);
  }
  void add_message(size_t bytes) { message_bytes_ += static_cast<int64_t>(bytes); }

  // Bytes in sums and all-gathers of floating-point data.
  int64_t bytes() const { return bytes_; }
  // Bytes in messages between two ranks.
  int64_t message_bytes() const { return message_bytes_; }

 private:
  std::atomic<int64_t> bytes_ = 0, message_bytes_ = 0;
};

}  // namespace strata::comm
