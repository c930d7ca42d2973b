// Linear layers: one product each, with what follows it in cuBLASLt's epilogue where that is
// faster.
#include "device/cuda/column_sums.h"
#include "device/cuda/matmul.h"
#include "device/cuda/operations.h"

namespace strata::device::cuda {

template <typename T>
void Operations<T>::linear_forward(const Context& context, const LinearForward& op) {
  const MatmulCall call{.transpose_b = true,
                        .m = op.x.rows,
                        .n = op.weight.rows,
                        .k = op.weight.cols,
                        .a = op.x.data,
                        .lda = op.x.cols,
                        .b = op.weight.data,
                        .ldb = op.weight.cols,
                        .c = op.y.data,
                        .ldc = op.weight.rows,
                        .bias = op.bias.data,
                        .input_dtype = dtype_of<T>(),
                        .output_dtype = dtype_of<T>()};
  if (op.activation == Activation::kNone) return context.matmul(call);
  const auto separately = [&](const MatmulCall& product, const MatmulEpilogue& epilogue) {
    Tensor y = op.y, pre_activation = op.y;
    y.data = product.c;
    pre_activation.data = epilogue.pre_activation ? epilogue.pre_activation : product.c;
    MatmulCall plain = product;
    plain.c = pre_activation.data;
    context.matmul(plain);
    activation_forward(context, op.activation, pre_activation, y);
  };
  const MatmulEpilogue gelu{.kind = MatmulEpilogue::Kind::kGelu,
                            .pre_activation = op.pre_activation.data};
  if (op.activation == Activation::kGeluTanh) {
    context.matmul(call, gelu, separately);
  } else {
    separately(call, gelu);
  }
}

template <typename T>
void Operations<T>::linear_data_gradient(const Context& context, const LinearDataGradient& op) {
  const MatmulCall call{.m = op.dy.rows,
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
                        .output_dtype = dtype_of<T>()};
  if (op.activation == Activation::kNone) return context.matmul(call);
  const auto separately = [&](const MatmulCall& product, const MatmulEpilogue&) {
    context.matmul(product);
    Tensor dx = op.dx;
    dx.data = product.c;
    activation_backward(
        context,
        {.activation = op.activation, .dy = dx, .pre_activation = op.pre_activation, .dx = dx});
  };
  const MatmulEpilogue gradient{.kind = MatmulEpilogue::Kind::kGeluGradient,
                                .pre_activation = const_cast<void*>(op.pre_activation.data)};
  if (op.activation == Activation::kGeluTanh) {
    context.matmul(call, gradient, separately);
  } else {
    separately(call, gradient);
  }
}

template <typename T>
void Operations<T>::linear_weight_gradient(const Context& context, const LinearWeightGradient& op) {
  const int64_t out = op.dy.cols, in = op.x.cols;
  const MatmulCall call{.transpose_a = true,
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
                        .output_dtype = DType::kF32};
  float* sums = context.scratch[1].get<float>(out);
  const auto separately = [&](const MatmulCall& product, const MatmulEpilogue& epilogue) {
    context.matmul(product);
    // A trial must leave the gradients alone.
    float* to = epilogue.column_sums == sums ? op.d_bias.as<float>() : epilogue.column_sums;
    add_column_sums(context, op.dy.as<T>(), op.dy.rows, out, out, to, 0);
  };
  const bool fused = context.matmul(
      call, {.kind = MatmulEpilogue::Kind::kColumnSums, .column_sums = sums}, separately);
  // cuBLASLt does not add to the sums that it finds.
  if (fused) add_partial_sums(context, sums, 1, out, out, op.d_bias.as<float>());
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
