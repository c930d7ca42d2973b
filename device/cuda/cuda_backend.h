// NVIDIA GPUs.
#pragma once

#include <memory>

#include "device/backend.h"

namespace strata::device::cuda {

// On the process's GPU number `device`, computing in f32 or bf16. Throws Error where there is no
// such GPU or it is older than compute capability 8.0.
std::unique_ptr<Backend> make_cuda_backend(DType compute_dtype, int device);

}  // namespace strata::device::cuda
