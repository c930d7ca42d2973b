// Memory of the sample backend: the host's.
#include "device/sample/sample_backend.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace strata::device::sample {

void* SampleBackend::allocate(size_t bytes) {
  constexpr size_t kAlignment = 64;
  const size_t rounded = std::max((bytes + kAlignment - 1) / kAlignment, size_t{1}) * kAlignment;
  void* memory = std::aligned_alloc(kAlignment, rounded);
  if (!memory) fail("sample: cannot allocate {} MiB; use a smaller micro-batch", bytes >> 20);
  return std::memset(memory, 0, rounded);
}

void SampleBackend::release(void* memory) { std::free(memory); }

// Pointers may be null where there is nothing to copy.
void SampleBackend::copy_to_device(Stream, void* device, const void* host, size_t bytes) {
  if (bytes > 0) std::memcpy(device, host, bytes);
}

void SampleBackend::copy_to_host(Stream, void* host, const void* device, size_t bytes) {
  if (bytes > 0) std::memcpy(host, device, bytes);
}

void SampleBackend::fill_zero(Stream, void* device, size_t bytes) {
  if (bytes > 0) std::memset(device, 0, bytes);
}

float* SampleBackend::scratch(Stream stream, int64_t n) {
  std::vector<float>& memory = scratch_[static_cast<size_t>(stream)];
  if (memory.size() < static_cast<size_t>(n)) memory.resize(static_cast<size_t>(n));
  return memory.data();
}

std::unique_ptr<Backend> make_sample_backend() { return std::make_unique<SampleBackend>(); }

}  // namespace strata::device::sample
