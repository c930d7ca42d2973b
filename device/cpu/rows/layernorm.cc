#include "device/cpu/float8.h"
#include "device/cpu/operations.h"
#include "device/cpu/rows/layernorm_gradients.h"

namespace strata::device::cpu {

template <typename T>
void Operations<T>::residual_layernorm_forward(const Context& context,
                                               const ResidualLayerNormForward& op) {
  parallel_ranges(context.threads, op.x.rows, [&](int64_t begin, int64_t end, int) {
    context.typed<T>().layernorm_forward(op, begin, end, row_scratch(op.x.cols));
  });
  write_copy<T>(context, op.y, op.y_float8);
}

template <typename T>
void Operations<T>::residual_layernorm_backward(const Context& context,
                                                const ResidualLayerNormBackward& op) {
  ResidualLayerNormBackward placed = op;
  placed.d_x = place_of_output<T>(context, op.d_x, 5);
  layernorm_gradients(context, op.dy.rows, op,
                      [&](int64_t begin, int64_t end, float* d_gamma, float* d_beta) {
                        context.typed<T>().layernorm_backward(placed, begin, end, d_gamma, d_beta,
                                                              row_scratch(op.dy.cols));
                      });
  write_copy<T>(context, placed.d_x, op.d_x_float8);
}

template <typename T>
void Operations<T>::residual_add_forward(const Context& context, const ResidualAddForward& op) {
  parallel_ranges(context.threads, op.x.rows, [&](int64_t begin, int64_t end, int) {
    context.typed<T>().residual_add_forward(op, begin, end, row_scratch(op.x.cols));
  });
}

template <typename T>
void Operations<T>::residual_add_backward(const Context& context, const ResidualAddBackward& op) {
  ResidualAddBackward placed = op;
  placed.d_x = place_of_output<T>(context, op.d_x, 5);
  parallel_ranges(context.threads, op.dy.rows, [&](int64_t begin, int64_t end, int) {
    context.typed<T>().residual_add_backward(placed, begin, end, row_scratch(op.dy.cols));
  });
  write_copy<T>(context, placed.d_x, op.d_x_float8);
}

STRATA_INSTANTIATE(residual_layernorm_forward, ResidualLayerNormForward);
STRATA_INSTANTIATE(residual_layernorm_backward, ResidualLayerNormBackward);
STRATA_INSTANTIATE(residual_add_forward, ResidualAddForward);
STRATA_INSTANTIATE(residual_add_backward, ResidualAddBackward);

}  // namespace strata::device::cpu
