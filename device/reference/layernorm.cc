// y = LayerNorm(residual + dropout(x)), and the sum without LayerNorm for pre-LN.
#include <vector>

#include "device/plain/layer_norm.h"
#include "device/reference/arguments.h"
#include "device/reference/float8.h"
#include "device/reference/operations.h"

namespace strata::device::reference {

void residual_layernorm_forward(const ResidualLayerNormForward& op) {
  const Arguments arguments("residual_layernorm_forward");
  const int64_t tokens = op.x.rows, hidden = op.x.cols;
  const ConstMatrix x = arguments.matrix("x", op.x, tokens, hidden);
  ConstMatrix residual;
  if (op.residual) residual = arguments.matrix("residual", op.residual, tokens, hidden);
  const ConstMatrix gamma = arguments.vector("gamma", op.gamma, hidden);
  const ConstMatrix beta = arguments.vector("beta", op.beta, hidden);
  Matrix normalized, inverse_stddev, stored_sum;
  if (op.sum) stored_sum = arguments.matrix("sum", op.sum, tokens, hidden);
  if (op.normalized) normalized = arguments.matrix("normalized", op.normalized, tokens, hidden);
  if (op.inverse_stddev) {
    inverse_stddev = arguments.vector("inverse_stddev", op.inverse_stddev, tokens);
  }
  const CopiedOutput output(arguments, "y", op.y, op.y_float8, tokens, hidden, DType::kE4M3);
  const Matrix& y = output.matrix();
  plain::TokenDropout dropout = arguments.dropout(op.dropout, op.sequences, tokens);

  std::vector<double> row(hidden);
  for (int64_t t = 0; t < tokens; ++t) {
    dropout.next(t);
    for (int64_t h = 0; h < hidden; ++h) {
      row[h] = (op.residual ? residual(t, h) : 0.0) + op.scale * dropout.factor(h) * x(t, h);
      if (op.sum) stored_sum(t, h) = row[h];
    }
    const double inverse = op.normalize ? plain::normalize(row.data(), hidden, op.epsilon) : 1;
    if (op.inverse_stddev) inverse_stddev[t] = inverse;
    for (int64_t h = 0; h < hidden; ++h) {
      if (op.normalized) normalized(t, h) = row[h];
      y(t, h) = gamma[h] * row[h] + beta[h];
    }
  }
  output.copy();
}

void residual_layernorm_backward(const ResidualLayerNormBackward& op) {
  const Arguments arguments("residual_layernorm_backward");
  const int64_t tokens = op.dy.rows, hidden = op.dy.cols;
  const ConstMatrix dy = arguments.matrix("dy", op.dy, tokens, hidden);
  const ConstMatrix normalized = arguments.matrix("normalized", op.normalized, tokens, hidden);
  ConstMatrix inverse_stddev;
  if (op.normalize) {
    inverse_stddev = arguments.vector("inverse_stddev", op.inverse_stddev, tokens);
  }
  arguments.require(!op.normalize || !op.standardization.mean,
                    "standardization comes without LayerNorm");
  arguments.standardization(op.standardization, tokens, hidden);
  const ConstMatrix gamma = arguments.vector("gamma", op.gamma, hidden);
  ConstMatrix other;
  if (op.d_sum) other = arguments.matrix("d_sum", op.d_sum, tokens, hidden);
  const CopiedOutput output(arguments, "d_x", op.d_x, op.d_x_float8, tokens, hidden, DType::kE5M2);
  const Matrix& d_x = output.matrix();
  arguments.require(tokens == 0 || op.d_residual.data != d_x.data,
                    "d_residual and d_x do not share memory");
  Matrix d_residual;
  if (op.d_residual) d_residual = arguments.matrix("d_residual", op.d_residual, tokens, hidden);
  const Matrix d_gamma = arguments.vector("d_gamma", op.d_gamma, hidden);
  const Matrix d_beta = arguments.vector("d_beta", op.d_beta, hidden);
  if (!op.accumulate) clear(d_gamma), clear(d_beta);
  plain::TokenDropout dropout = arguments.dropout(op.dropout, op.sequences, tokens);
  const Sums sums(arguments, "d_x_sums", op.d_x_sums, hidden);

  std::vector<double> d_sum(hidden);
  for (int64_t t = 0; t < tokens; ++t) {
    dropout.next(t);
    for (int64_t h = 0; h < hidden; ++h) {
      d_sum[h] = gamma[h] * dy(t, h);
      d_gamma[h] += normalized(t, h) * dy(t, h);
      d_beta[h] += dy(t, h);
    }
    if (op.normalize) {
      plain::normalize_backward(d_sum.data(), normalized.row(t), inverse_stddev[t], hidden);
    }
    plain::add_standardization_gradient(op.standardization, t, normalized.row(t), d_sum.data(),
                                        hidden);
    for (int64_t h = 0; h < hidden; ++h) {
      if (op.d_sum) d_sum[h] += other(t, h);
      d_x(t, h) = op.scale * dropout.factor(h) * d_sum[h];
      sums.add(h, d_x(t, h));
      if (op.d_residual) d_residual(t, h) = d_sum[h];
    }
  }
  output.copy();
}

void residual_add_forward(const ResidualAddForward& op) {
  const Arguments arguments("residual_add_forward");
  const int64_t tokens = op.x.rows, hidden = op.x.cols;
  const ConstMatrix x = arguments.matrix("x", op.x, tokens, hidden);
  const ConstMatrix residual = arguments.matrix("residual", op.residual, tokens, hidden);
  const Matrix y = arguments.matrix("y", op.y, tokens, hidden);
  plain::TokenDropout dropout = arguments.dropout(op.dropout, op.sequences, tokens);
  for (int64_t t = 0; t < tokens; ++t) {
    dropout.next(t);
    for (int64_t h = 0; h < hidden; ++h) {
      y(t, h) = residual(t, h) + op.scale * dropout.factor(h) * x(t, h);
    }
  }
}

void residual_add_backward(const ResidualAddBackward& op) {
  const Arguments arguments("residual_add_backward");
  const int64_t tokens = op.dy.rows, hidden = op.dy.cols;
  const ConstMatrix dy = arguments.matrix("dy", op.dy, tokens, hidden);
  const CopiedOutput output(arguments, "d_x", op.d_x, op.d_x_float8, tokens, hidden, DType::kE5M2);
  const Matrix& d_x = output.matrix();
  arguments.require(tokens == 0 || op.dy.data != d_x.data, "dy and d_x do not share memory");
  plain::TokenDropout dropout = arguments.dropout(op.dropout, op.sequences, tokens);
  for (int64_t t = 0; t < tokens; ++t) {
    dropout.next(t);
    for (int64_t h = 0; h < hidden; ++h) {
      d_x(t, h) = op.scale * dropout.factor(h) * dy(t, h);
    }
  }
  output.copy();
}

}  // namespace strata::device::reference
