#include "device/cuda/attention/attention_kernels.h"
#include "device/cuda/attention/tiles/wgmma_gemm.h"

namespace strata::device::cuda {

void wgmma_attention_forward(const Context& context, const AttentionForward& op) {
  launch_attention_forward<WgmmaGemm<64>>(context, op);
}

void wgmma_attention_backward(const Context& context, const AttentionBackward& op) {
  launch_attention_backward<WgmmaGemm<64>>(context, op);
}

}  // namespace strata::device::cuda
