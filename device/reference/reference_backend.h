// The backend that all others are checked against: naive loops in f64, one thread.
#pragma once

#include <memory>

#include "device/backend.h"

namespace strata::device {

// compute_dtype and master_dtype are kF64. Every operation throws Error if a shape, dtype, index or
// pointer violates the contract of backend.h. `convert`, `l2_norm_squared` and `clip_to_norm` also
// take kF32 and kBF16.
std::unique_ptr<Backend> make_reference_backend();

}  // namespace strata::device
