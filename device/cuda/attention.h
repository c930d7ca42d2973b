// Implementations of attention to choose from.
#pragma once

#include "device/backend.h"
#include "device/cuda/runtime.h"

namespace strata::device::cuda {

// A warp a query: for any head size up to 128. T: float or BFloat16.
template <typename T>
void plain_attention_forward(const Context& context, const AttentionForward& op);
template <typename T>
void plain_attention_backward(const Context& context, const AttentionBackward& op);

// Tiles of 64 queries x 64 keys on tensor cores, bf16, for head sizes 32 and 64; scores stay in
// registers (Dao 2023, "FlashAttention-2"), gradients are summed in a fixed order.
bool suits_tiled_attention(const ConstTensor& qkv, const ConstTensor& context, int32_t heads);
void tiled_attention_forward(const Context& context, const AttentionForward& op);
void tiled_attention_backward(const Context& context, const AttentionBackward& op);

}  // namespace strata::device::cuda
