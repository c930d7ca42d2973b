// NVIDIA GPUs.
#pragma once

#include <memory>

#include "device/backend.h"
#include "device/cuda/host/kernel_choices.h"

namespace strata::device::cuda {

// On GPU number `device` of those that the process sees, or on the one that it sees (launchers may
// show every process its own), computing in f32, bf16 or f16. Keeps the calling thread to the
// processors next to it. Throws Error where there is no such GPU or it is older than compute
// capability 8.0.
std::unique_ptr<Backend> make_cuda_backend(DType compute_dtype, int device,
                                           const KernelChoices& choices = {});

}  // namespace strata::device::cuda
