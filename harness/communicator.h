// The ranks of a job, as far as the harness needs them. training/ranks/harness_communicator.h
// implements it for training.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace strata::harness {

// All ranks make the same calls of broadcast, share, barrier and sum in the same order.
class Communicator {
 public:
  // `first_of_node`: true for the rank that does the work that its node needs once.
  Communicator(int rank, int size, bool first_of_node)
      : rank_(rank), size_(size), first_of_node_(first_of_node) {}
  virtual ~Communicator() = default;

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool first() const { return rank_ == 0; }
  bool first_of_node() const { return first_of_node_; }

  // Copies `bytes` bytes of rank 0 to all ranks.
  virtual void broadcast(void* data, size_t bytes) = 0;
  virtual void barrier() = 0;
  // Returns the sum over ranks, on all of them.
  virtual int64_t sum(int64_t value) = 0;

  // Copies rank 0's `value` to all ranks: a number, or a vector or string of any size.
  template <typename Value>
  void share(Value& value) {
    if constexpr (std::is_trivially_copyable_v<Value>) {
      broadcast(&value, sizeof value);
    } else {
      static_assert(std::is_trivially_copyable_v<typename Value::value_type>);
      size_t count = value.size();
      share(count);
      value.resize(count);
      broadcast(value.data(), count * sizeof(typename Value::value_type));
    }
  }

 private:
  const int rank_, size_;
  const bool first_of_node_;
};

}  // namespace strata::harness
