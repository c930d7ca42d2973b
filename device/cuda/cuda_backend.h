// NVIDIA GPUs.
#pragma once

#include <memory>

#include "device/backend.h"
#include "device/cuda/host/kernel_choices.h"

namespace strata::device::cuda {

// Uses GPU number `device` of the visible ones; if only one is visible, that one, because launchers
// may give every process its own. Computes in f32, bf16 or f16. Binds the calling thread to the
// processors next to the GPU. Throws Error if there is no such GPU or it is older than compute
// capability 8.0.
std::unique_ptr<Backend> make_cuda_backend(DType compute_dtype, int device,
                                           const KernelChoices& choices = {});

}  // namespace strata::device::cuda
