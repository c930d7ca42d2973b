// A pass over memory with next to no arithmetic, split over threads and compiled as the optimizers'
// passes are: how fast they could be if memory were all that mattered.
#pragma once

#include <cstdint>

#include "device/cpu/kernels/table.h"

namespace strata::device::cpu {

// Elements [0, count) of the pass's arrays, by `threads` threads.
void run_plain_pass(int threads, int64_t count, const PlainPass& pass);

}  // namespace strata::device::cpu
