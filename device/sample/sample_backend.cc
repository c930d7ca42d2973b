#include "device/sample/sample_backend.h"

namespace strata::device::sample {

float* SampleBackend::scratch(Stream stream, int64_t n) {
  std::vector<float>& memory = scratch_[static_cast<size_t>(stream)];
  if (memory.size() < static_cast<size_t>(n)) memory.resize(static_cast<size_t>(n));
  return memory.data();
}

std::unique_ptr<Backend> make_sample_backend() { return std::make_unique<SampleBackend>(); }

}  // namespace strata::device::sample
