// Fully connected layers: y = activation(x weight^T + bias).
#include "device/plain/activation.h"
#include "device/reference/arguments.h"
#include "device/reference/float8.h"
#include "device/reference/operations.h"

namespace strata::device::reference {

using plain::activate;
using plain::activation_derivative;

void linear_forward(const LinearForward& op) {
  const Arguments arguments("linear_forward");
  const int64_t tokens = op.x.rows, in = op.weight.cols, out = op.weight.rows;
  const Operand x(arguments, "x", op.x, tokens, in, DType::kE4M3);
  const Operand weight(arguments, "weight", op.weight, out, in, DType::kE4M3);
  const ConstMatrix bias = arguments.vector("bias", op.bias, out);
  const CopiedOutput output(arguments, "y", op.y, op.y_float8, tokens, out, DType::kE4M3);
  const Matrix& y = output.matrix();
  Matrix pre_activation;
  if (op.pre_activation) {
    pre_activation = arguments.matrix("pre_activation", op.pre_activation, tokens, out);
  }
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t o = 0; o < out; ++o) {
      double sum = bias[o];
      for (int64_t i = 0; i < in; ++i) sum += x(t, i) * weight(o, i);
      if (op.pre_activation) pre_activation(t, o) = sum;
      y(t, o) = activate(op.activation, sum);
    }
  }
  output.copy();
}

void linear_data_gradient(const LinearDataGradient& op) {
  const Arguments arguments("linear_data_gradient");
  const int64_t tokens = op.dy.rows, in = op.weight.cols, out = op.weight.rows;
  const Operand dy(arguments, "dy", op.dy, tokens, out, DType::kE5M2);
  const Operand weight(arguments, "weight", op.weight, out, in, DType::kE4M3);
  const CopiedOutput output(arguments, "dx", op.dx, op.dx_float8, tokens, in, DType::kE5M2);
  const Matrix& dx = output.matrix();
  const bool activated = op.activation != Activation::kNone;
  arguments.require(!(activated && op.accumulate), "accumulate comes without an activation");
  arguments.require(!(op.dx_float8 && op.accumulate), "accumulate comes without dx_float8");
  arguments.require(activated || !op.dx_sums, "dx_sums comes with an activation");
  ConstMatrix pre_activation;
  if (activated) {
    pre_activation = arguments.matrix("pre_activation", op.pre_activation, tokens, in);
  }
  const Sums sums(arguments, "dx_sums", op.dx_sums, in);
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t i = 0; i < in; ++i) {
      double sum = 0;
      for (int64_t o = 0; o < out; ++o) sum += dy(t, o) * weight(o, i);
      if (activated) sum *= activation_derivative(op.activation, pre_activation(t, i));
      dx(t, i) = op.accumulate ? dx(t, i) + sum : sum;
      sums.add(i, sum);
    }
  }
  output.copy();
}

void linear_weight_gradient(const LinearWeightGradient& op) {
  const Arguments arguments("linear_weight_gradient");
  const int64_t tokens = op.x.rows, in = op.x.cols, out = op.dy.cols;
  const Operand x(arguments, "x", op.x, tokens, in, DType::kE4M3);
  const Operand dy(arguments, "dy", op.dy, tokens, out, DType::kE5M2);
  const Matrix d_weight = arguments.matrix("d_weight", op.d_weight, out, in);
  Matrix d_bias;
  if (op.d_bias) d_bias = arguments.vector("d_bias", op.d_bias, out);
  if (!op.accumulate) clear(d_weight), clear(d_bias);
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t o = 0; o < out; ++o) {
      for (int64_t i = 0; i < in; ++i) d_weight(o, i) += dy(t, o) * x(t, i);
      if (op.d_bias) d_bias[o] += dy(t, o);
    }
  }
}

void activation_backward(const ActivationBackward& op) {
  const Arguments arguments("activation_backward");
  const int64_t rows = op.dy.rows, cols = op.dy.cols;
  const ConstMatrix dy = arguments.matrix("dy", op.dy, rows, cols);
  const ConstMatrix pre = arguments.matrix("pre_activation", op.pre_activation, rows, cols);
  const Matrix dx = arguments.matrix("dx", op.dx, rows, cols);
  for (int64_t i = 0; i < rows * cols; ++i) {
    dx[i] = dy[i] * activation_derivative(op.activation, pre[i]);
  }
}

}  // namespace strata::device::reference
