#include "base/error.h"
#include "device/backend.h"
#include "device/cpu/cpu_backend.h"
#include "device/reference/reference_backend.h"
#ifdef STRATA_CUDA
#include "device/cuda/cuda_backend.h"
#endif

#include <new>

namespace strata::device {

namespace {
constexpr std::align_val_t kHostAlignment{64};
}

const char* name_of(AttentionKernel kernel) {
  constexpr const char* kNames[] = {"fastest", "plain", "mma", "wgmma", "cudnn"};
  return kNames[static_cast<size_t>(kernel)];
}

const char* name_of(FusedEpilogues epilogues) {
  constexpr const char* kNames[] = {"fastest", "always", "never"};
  return kNames[static_cast<size_t>(epilogues)];
}

void* Backend::allocate_host(size_t bytes) { return ::operator new(bytes, kHostAlignment); }

void Backend::release_host(void* memory) { ::operator delete(memory, kHostAlignment); }

void Backend::store(Stream stream, void* device, const void* values, size_t bytes) {
  copy_to_device(stream, device, values, bytes);
  synchronize(stream);
}

std::unique_ptr<Recording> Backend::keep(const std::function<void()>&) { return nullptr; }

void Backend::each_time(const std::function<void()>& call) { call(); }

std::unique_ptr<Backend> make_backend(const BackendOptions& options) {
  if (options.name == "cpu") return cpu::make_cpu_backend(options.compute_dtype, options.threads);
  if (options.name == "reference") {
    if (options.compute_dtype != DType::kF64) {
      fail("backend reference: computes in f64 only, not in {}", name_of(options.compute_dtype));
    }
    return make_reference_backend();
  }
#ifdef STRATA_CUDA
  if (options.name == "cuda") {
    return cuda::make_cuda_backend(options.compute_dtype, options.gpu, options.attention,
                                   options.epilogues);
  }
#endif
  fail("backend {}: not in this build; choose cpu or reference", options.name);
}

}  // namespace strata::device
