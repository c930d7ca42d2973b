// A memory-bound pass, distributed over threads and compiled like the optimizers' passes. It shows
// how fast they could be without arithmetic.
#pragma once

#include <cstdint>

#include "device/cpu/kernels/table.h"

namespace strata::device::cpu {

// Processes elements [0, count) of the pass's arrays on `threads` threads.
void run_plain_pass(int threads, int64_t count, const PlainPass& pass);

}  // namespace strata::device::cpu
