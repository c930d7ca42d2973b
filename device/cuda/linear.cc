// Linear layers: one product each, with what follows it in cuBLASLt's epilogue where that is
// faster.
#include "device/cuda/column_sums.h"
#include "device/cuda/float8.h"
#include "device/cuda/matmul.h"
#include "device/cuda/operations.h"

namespace strata::device::cuda {
namespace {

// Scratch slots of operands in 8 bits.
constexpr int kFirst = 2, kSecond = 3;

template <typename Format, typename T>
const uint8_t* codes_of(const Context& context, const ConstTensor& x, const Float8Scaling& scaling,
                        int slot) {
  auto* codes = context.scratch[slot].get<uint8_t>(x.size());
  round_to_float8<Format>(context, x.as<T>(), x.size(), scaling, codes);
  return codes;
}

template <typename Format, typename T>
const uint8_t* codes_of_transpose(const Context& context, const ConstTensor& x, const float* scale,
                                  int slot) {
  auto* codes = context.scratch[slot].get<uint8_t>(x.size());
  round_to_float8_transposed<Format>(context, x.as<T>(), x.rows, x.cols, scale, codes);
  return codes;
}

// Looks at an operand that is not rounded yet.
template <typename T>
void look_at(const Context& context, const ConstTensor& x, const Float8Scaling& scaling) {
  if (scaling.largest && !scaling.scale) {
    raise_to_largest(context, x.as<T>(), x.size(), scaling.largest);
  }
}

}  // namespace

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
  look_at<T>(context, op.x, op.x_scaling);
  look_at<T>(context, op.weight, op.weight_scaling);
  const bool in_float8 = op.x_scaling.scale && op.x.rows > 0;
  const auto multiply = [&](MatmulCall product) {
    if (!in_float8) return context.matmul(product);
    product.a = codes_of<E4M3, T>(context, op.x, op.x_scaling, kFirst);
    product.b = codes_of<E4M3, T>(context, op.weight, op.weight_scaling, kSecond);
    context.matmul(product,
                   {.a_factor = op.x_scaling.scale + 1, .b_factor = op.weight_scaling.scale + 1});
  };
  if (op.activation == Activation::kNone) return multiply(call);
  const auto separately = [&](const MatmulCall& product, const MatmulEpilogue& epilogue) {
    Tensor y = op.y, pre_activation = op.y;
    y.data = product.c;
    pre_activation.data = epilogue.pre_activation ? epilogue.pre_activation : product.c;
    MatmulCall plain = product;
    plain.c = pre_activation.data;
    multiply(plain);
    activation_forward(context, op.activation, pre_activation, y);
  };
  const MatmulEpilogue gelu{.kind = MatmulEpilogue::Kind::kGelu,
                            .pre_activation = op.pre_activation.data};
  if (op.activation == Activation::kGeluTanh && !in_float8) {
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
  look_at<T>(context, op.dy, op.dy_scaling);
  const bool in_float8 = op.dy_scaling.scale && op.dy.rows > 0;
  const auto multiply = [&](MatmulCall product) {
    if (!in_float8) return context.matmul(product);
    product.a = codes_of<E5M2, T>(context, op.dy, op.dy_scaling, kFirst);
    product.b = codes_of_transpose<E4M3, T>(context, op.weight, op.weight_scale, kSecond);
    product.transpose_b = true;
    product.ldb = product.k;
    context.matmul(product, {.a = Float8Operands::Format::kE5M2,
                             .a_factor = op.dy_scaling.scale + 1,
                             .b_factor = op.weight_scale + 1});
  };
  if (op.activation == Activation::kNone) return multiply(call);
  const auto separately = [&](const MatmulCall& product, const MatmulEpilogue&) {
    multiply(product);
    Tensor dx = op.dx;
    dx.data = product.c;
    activation_backward(
        context,
        {.activation = op.activation, .dy = dx, .pre_activation = op.pre_activation, .dx = dx});
  };
  const MatmulEpilogue gradient{.kind = MatmulEpilogue::Kind::kGeluGradient,
                                .pre_activation = const_cast<void*>(op.pre_activation.data)};
  if (op.activation == Activation::kGeluTanh && !in_float8) {
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
  if (op.x_scale && op.x.rows > 0) {
    MatmulCall product = call;
    product.a = codes_of_transpose<E5M2, T>(context, op.dy, op.dy_scale, kFirst);
    product.b = codes_of_transpose<E4M3, T>(context, op.x, op.x_scale, kSecond);
    product.transpose_a = false;
    product.transpose_b = true;
    product.lda = product.ldb = product.k;
    context.matmul(product, {.a = Float8Operands::Format::kE5M2,
                             .a_factor = op.dy_scale + 1,
                             .b_factor = op.x_scale + 1});
    add_column_sums(context, op.dy.as<T>(), op.dy.rows, out, out, op.d_bias.as<float>(), 0);
    return;
  }
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
