#include "device/cpu/layernorm_gradients.h"
#include "device/cpu/operations.h"

namespace strata::device::cpu {

template <typename T>
void Operations<T>::residual_layernorm_forward(const Context& context,
                                               const ResidualLayerNormForward& op) {
  parallel_ranges(context.threads, op.x.rows, [&](int64_t begin, int64_t end, int) {
    context.typed<T>().layernorm_forward(op, begin, end, row_scratch(op.x.cols));
  });
}

template <typename T>
void Operations<T>::residual_layernorm_backward(const Context& context,
                                                const ResidualLayerNormBackward& op) {
  add_layernorm_gradients(context, op.dy.rows, op.d_gamma, op.d_beta,
                          [&](int64_t begin, int64_t end, float* d_gamma, float* d_beta) {
                            context.typed<T>().layernorm_backward(op, begin, end, d_gamma, d_beta,
                                                                  row_scratch(op.dy.cols));
                          });
}

template void Operations<float>::residual_layernorm_forward(const Context&,
                                                            const ResidualLayerNormForward&);
template void Operations<uint16_t>::residual_layernorm_forward(const Context&,
                                                               const ResidualLayerNormForward&);
template void Operations<float>::residual_layernorm_backward(const Context&,
                                                             const ResidualLayerNormBackward&);
template void Operations<uint16_t>::residual_layernorm_backward(const Context&,
                                                                const ResidualLayerNormBackward&);

}  // namespace strata::device::cpu
