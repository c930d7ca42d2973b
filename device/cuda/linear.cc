// Linear layers: one product each, then what cuBLASLt's epilogues do not do.
#include "device/cuda/column_sums.h"
#include "device/cuda/matmul.h"
#include "device/cuda/operations.h"

namespace strata::device::cuda {

template <typename T>
void Operations<T>::linear_forward(const Context& context, const LinearForward& op) {
  const bool activate = op.activation != Activation::kNone;
  const Tensor& product = activate && op.pre_activation ? op.pre_activation : op.y;
  context.matmul({.transpose_b = true,
                  .m = op.x.rows,
                  .n = op.weight.rows,
                  .k = op.weight.cols,
                  .a = op.x.data,
                  .lda = op.x.cols,
                  .b = op.weight.data,
                  .ldb = op.weight.cols,
                  .c = product.data,
                  .ldc = op.weight.rows,
                  .bias = op.bias.data,
                  .input_dtype = dtype_of<T>(),
                  .output_dtype = dtype_of<T>()});
  if (activate) activation_forward(context, op.activation, product, op.y);
}

template <typename T>
void Operations<T>::linear_data_gradient(const Context& context, const LinearDataGradient& op) {
  context.matmul({.m = op.dy.rows,
                  .n = op.weight.cols,
                  .k = op.weight.rows,
                  .a = op.dy.data,
                  .lda = op.dy.cols,
                  .b = op.weight.data,
                  .ldb = op.weight.cols,
                  .c = op.dx.data,
                  .ldc = op.weight.cols,
                  .accumulate = op.accumulate,
                  .input_dtype = dtype_of<T>(),
                  .output_dtype = dtype_of<T>()});
  if (op.activation != Activation::kNone) {
    activation_backward(context, {.activation = op.activation,
                                  .dy = op.dx,
                                  .pre_activation = op.pre_activation,
                                  .dx = op.dx});
  }
}

template <typename T>
void Operations<T>::linear_weight_gradient(const Context& context, const LinearWeightGradient& op) {
  const int64_t out = op.dy.cols, in = op.x.cols;
  context.matmul({.transpose_a = true,
                  .m = out,
                  .n = in,
                  .k = op.x.rows,
                  .a = op.dy.data,
                  .lda = out,
                  .b = op.x.data,
                  .ldb = in,
                  .c = op.d_weight.data,
                  .ldc = in,
                  .accumulate = true,
                  .input_dtype = dtype_of<T>(),
                  .output_dtype = DType::kF32});
  add_column_sums(context, op.dy.as<T>(), op.dy.rows, out, out, op.d_bias.as<float>(), 0);
}

template void Operations<float>::linear_forward(const Context&, const LinearForward&);
template void Operations<BFloat16>::linear_forward(const Context&, const LinearForward&);
template void Operations<float>::linear_data_gradient(const Context&, const LinearDataGradient&);
template void Operations<BFloat16>::linear_data_gradient(const Context&, const LinearDataGradient&);
template void Operations<float>::linear_weight_gradient(const Context&,
                                                        const LinearWeightGradient&);
template void Operations<BFloat16>::linear_weight_gradient(const Context&,
                                                           const LinearWeightGradient&);

}  // namespace strata::device::cuda
