// Offsets of packed sequences in elements, for cuDNN.
#pragma once

#include <cstdint>

#include "device/backend.h"
#include "device/cuda/runtime/runtime.h"

namespace strata::device::cuda {

struct PackedOffsets {
  int32_t* lengths = nullptr;     // [B]
  int32_t* qkv = nullptr;         // [B + 1], in rows of 3H elements
  int32_t* context = nullptr;     // [B + 1], in rows of H
  int32_t* statistics = nullptr;  // [B + 1], in rows of `heads`
};

// Computes the offsets for rows of these sizes. Offsets must stay below 2^31.
void write_packed_offsets(const Context& context, const Sequences& sequences, int32_t hidden,
                          int32_t heads, const PackedOffsets& offsets);

}  // namespace strata::device::cuda
