// Which attention runs.
#include "device/cuda/attention.h"

#include <type_traits>

#include "device/cuda/float8.h"
#include "device/cuda/operations.h"

namespace strata::device::cuda {

template <typename T>
void Operations<T>::attention_forward(const Context& context, const AttentionForward& op) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    if (suits_tiled_attention(op.qkv, op.context, op.heads)) {
      return tiled_attention_forward(context, op);
    }
  }
  plain_attention_forward<T>(context, op);
  write_float8_copy<T>(context, op.context, op.context_float8);
}

template <typename T>
void Operations<T>::attention_backward(const Context& context, const AttentionBackward& op) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    if (suits_tiled_attention(op.qkv, op.d_context, op.heads) &&
        suits_tiled_attention(op.d_qkv, op.context, op.heads)) {
      return tiled_attention_backward(context, op);
    }
  }
  AttentionBackward placed = op;
  placed.d_qkv = place_of_output(context, op.d_qkv, 1);
  plain_attention_backward<T>(context, placed);
  write_float8_copy<T>(context, placed.d_qkv, op.d_qkv_float8);
}

template void Operations<float>::attention_forward(const Context&, const AttentionForward&);
template void Operations<BFloat16>::attention_forward(const Context&, const AttentionForward&);
template void Operations<float>::attention_backward(const Context&, const AttentionBackward&);
template void Operations<BFloat16>::attention_backward(const Context&, const AttentionBackward&);

}  // namespace strata::device::cuda
