// A backend that uses host memory and finishes each operation before it returns.
#pragma once

#include "device/backend.h"

namespace strata::device {

// Streams and events need no state. Derived classes implement the operations.
class HostMemoryBackend : public Backend {
 public:
  void* allocate(size_t bytes) override;
  void release(void* memory) override;
  // Pointers may be null if there is nothing to copy.
  void copy_to_device(Stream, void* device, const void* host, size_t bytes) override;
  void copy_to_host(Stream, void* host, const void* device, size_t bytes) override;
  void fill_zero(Stream, void* device, size_t bytes) override;
  Event record(Stream) override { return 0; }
  void wait(Stream, Event) override {}
  void synchronize(Stream) override {}
};

}  // namespace strata::device
