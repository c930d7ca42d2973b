// What a GPU backend may be told to compute with, instead of what it measures to be fastest.
#pragma once

#include <cstdint>

namespace strata::device {

// bf16 attention, where the size of heads allows it.
enum class AttentionKernel : uint8_t { kFastest, kPlain, kMma, kWgmma, kCudnn };
const char* name_of(AttentionKernel);

// Whether GELU, its derivative and bias gradients are part of a matrix product, where they can be.
enum class FusedEpilogues : uint8_t { kFastest, kAlways, kNever };
const char* name_of(FusedEpilogues);

}  // namespace strata::device
