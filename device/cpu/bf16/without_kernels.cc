// In place of the kernels, for processors other than x86-64. multiplies_bf16_pairs() is false
// there, so nothing calls these functions.
#include <cstdlib>

#include "device/cpu/bf16/attention_kernels.h"
#include "device/cpu/bf16/gelu_kernels.h"
#include "device/cpu/bf16/gemm_kernels.h"

namespace strata::device::cpu {

void pack_right_operand(bool, int64_t, int64_t, const uint16_t*, int64_t, uint32_t*) {
  std::abort();
}
void pack_left_operand(int64_t, int64_t, const uint16_t*, int64_t, uint32_t*, float*) {
  std::abort();
}
void multiply_panel(const Panel&) { std::abort(); }

void gelu_forward(const SegmentedCubic&, const MatrixPart&, const uint16_t*, uint16_t*) {
  std::abort();
}
void gelu_backward(const SegmentedCubic&, const MatrixPart&, const uint16_t*, const uint16_t*,
                   uint16_t*) {
  std::abort();
}

const AttentionKernels<uint16_t>& bf16_attention() { std::abort(); }

}  // namespace strata::device::cpu
