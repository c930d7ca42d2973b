#include "device/plain/host_memory_backend.h"

#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace strata::device {

void* HostMemoryBackend::allocate(size_t bytes) {
  constexpr size_t kAlignment = 64;
  const size_t padded = (bytes / kAlignment + 1) * kAlignment;
  void* memory = padded > bytes ? std::aligned_alloc(kAlignment, padded) : nullptr;
  if (!memory) {
    fail("{}: cannot allocate {} MiB; use a smaller model or micro-batch", name(), bytes >> 20);
  }
  return std::memset(memory, 0, padded);
}

void HostMemoryBackend::release(void* memory) { std::free(memory); }

void HostMemoryBackend::copy_to_device(Stream, void* device, const void* host, size_t bytes) {
  if (bytes > 0) std::memcpy(device, host, bytes);
}

void HostMemoryBackend::copy_to_host(Stream, void* host, const void* device, size_t bytes) {
  if (bytes > 0) std::memcpy(host, device, bytes);
}

void HostMemoryBackend::fill_zero(Stream, void* device, size_t bytes) {
  if (bytes > 0) std::memset(device, 0, bytes);
}

}  // namespace strata::device
