// Collectives with NCCL, which the first use loads, so that programs also start without it.
#pragma once

#include <memory>

#include "device/links/collectives.h"

namespace strata::device::cuda {

// Issues on `stream`, a cudaStream_t of the calling thread's GPU. bf16 and f16 are rounded at every
// addition. Throws Error if NCCL is missing or fails.
std::unique_ptr<Collectives> make_nccl_collectives(const RankGroup& group, void* stream);

}  // namespace strata::device::cuda
