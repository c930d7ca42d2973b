// The backend every other one is judged against: naive loops in double, one thread.
#pragma once

#include <memory>

#include "device/backend.h"

namespace strata::device {

// compute_dtype and master_dtype are kF64. Every operation throws Error where a shape, dtype, index
// or pointer breaks the contract of backend.h. `convert`, `l2_norm_squared` and `clip_to_norm` also
// take kF32 and kBF16.
std::unique_ptr<Backend> make_reference_backend();

}  // namespace strata::device
