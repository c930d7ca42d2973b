// The conformance suite's backends in this program: the CUDA backend with its kernels on the
// processor.
#include "tests/conformance/backends.h"

#include "device/cuda/cuda_backend.h"
#include "device/cuda/host/kernel_choices.h"

namespace strata::device {

std::vector<BackendOptions> tested_backends() {
  return {{.name = "emulated_cuda", .compute_dtype = DType::kF32},
          {.name = "emulated_cuda", .compute_dtype = DType::kBF16},
          {.name = "emulated_cuda", .compute_dtype = DType::kF16}};
}

std::vector<BackendOptions> tested_attention() {
  return with_every_attention(tested_backends(), "emulated_cuda");
}

// GEMMs do not use the real cuBLASLt here.
std::vector<BackendOptions> tested_linear() { return tested_backends(); }

std::unique_ptr<Backend> make_tested_backend(const BackendOptions& options) {
  cuda::KernelChoices choices = cuda::kernel_choices(options.options);
  choices.attention_compared_from = 0;  // the suite's shapes are small
  return cuda::make_cuda_backend(options.compute_dtype, 0, choices);
}

}  // namespace strata::device
