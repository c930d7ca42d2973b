#pragma once

#include <cstdint>

namespace strata::device {

// What a GPU computes bf16 attention with, where the size of heads allows it: one of its
// implementations, or the one that it finds to be fastest.
enum class AttentionKernel : uint8_t { kFastest, kPlain, kMma, kWgmma };
const char* name_of(AttentionKernel);

}  // namespace strata::device
