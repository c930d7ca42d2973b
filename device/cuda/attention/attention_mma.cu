#include "device/cuda/attention/attention_kernels.h"
#include "device/cuda/attention/tiles/mma_gemm.h"

namespace strata::device::cuda {
namespace {

// Calls body(head size as a constant).
template <typename Body>
void with_head_size(int64_t size, const Body& body) {
  if (size == 64) return body(std::integral_constant<int, 64>{});
  body(std::integral_constant<int, 32>{});
}

}  // namespace

void mma_attention_forward(const Context& context, const AttentionForward& op) {
  with_head_size(op.context.cols / op.heads,
                 [&](auto size) { launch_attention_forward<MmaGemm<size()>>(context, op); });
}

void mma_attention_backward(const Context& context, const AttentionBackward& op) {
  with_head_size(op.context.cols / op.heads,
                 [&](auto size) { launch_attention_backward<MmaGemm<size()>>(context, op); });
}

}  // namespace strata::device::cuda
