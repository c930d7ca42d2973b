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
  const int64_t hidden = op.dy.cols;
  // Partial sums of d_gamma and d_beta side by side.
  float* sums = context.scratch[0].get<float>(2 * hidden);
  std::fill_n(sums, 2 * hidden, 0.0f);
  parallel_sums(context, op.dy.rows, 2 * hidden, 1, sums,
                [&](int64_t begin, int64_t end, float* partial) {
                  context.typed<T>().layernorm_backward(op, begin, end, partial, partial + hidden,
                                                        row_scratch(hidden));
                });
  context.kernels.add_f32(hidden, sums, op.d_gamma.as<float>());
  context.kernels.add_f32(hidden, sums + hidden, op.d_beta.as<float>());
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
