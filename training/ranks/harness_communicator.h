// The ranks of a training, as the harness sees them.
#pragma once

#include <span>

#include "harness/communicator.h"
#include "training/ranks/ranks.h"

namespace strata::training {

// Uses the communicator of `ranks`, which outlives it.
class HarnessCommunicator final : public harness::Communicator {
 public:
  explicit HarnessCommunicator(const Ranks& ranks)
      : Communicator(ranks.rank(), ranks.size(), ranks.local.rank == 0),
        communicator_(ranks.communicator) {}

  void broadcast(void* data, size_t bytes) override { communicator_.broadcast(data, bytes, 0); }
  void barrier() override { communicator_.barrier(); }
  int64_t sum(int64_t value) override {
    communicator_.all_reduce_sum(std::span(&value, 1));
    return value;
  }

 private:
  comm::Communicator& communicator_;
};

}  // namespace strata::training
