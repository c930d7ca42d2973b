// A device with late streams that counts allocations.
#pragma once

#include "tests/support/deferred_backend.h"

namespace strata::training {

class CountingDevice : public testing_support::DeferredBackend {
 public:
  using DeferredBackend::DeferredBackend;
  void* allocate(size_t bytes) override {
    ++allocations;
    return DeferredBackend::allocate(bytes);
  }
  int allocations = 0;
};

}  // namespace strata::training
