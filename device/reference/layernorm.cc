#include "device/reference/layernorm.h"

#include <cmath>

#include "device/reference/arguments.h"
#include "device/reference/float8.h"
#include "device/reference/operations.h"
#include "device/reference/token_dropout.h"

namespace strata::device::reference {

NormalizedRow normalize(const std::vector<double>& row, double epsilon) {
  const double n = static_cast<double>(row.size());
  double mean = 0, variance = 0;
  for (const double value : row) mean += value / n;
  for (const double value : row) variance += (value - mean) * (value - mean) / n;
  NormalizedRow result;
  result.inverse_stddev = 1 / std::sqrt(variance + epsilon);
  for (const double value : row) result.values.push_back((value - mean) * result.inverse_stddev);
  return result;
}

std::vector<double> normalize_backward(const std::vector<double>& d_normalized,
                                       const double* normalized, double inverse_stddev) {
  const size_t n = d_normalized.size();
  double mean = 0, projection = 0;
  for (size_t i = 0; i < n; ++i) {
    mean += d_normalized[i] / static_cast<double>(n);
    projection += d_normalized[i] * normalized[i] / static_cast<double>(n);
  }
  std::vector<double> d_row(n);
  for (size_t i = 0; i < n; ++i) {
    d_row[i] = inverse_stddev * (d_normalized[i] - mean - normalized[i] * projection);
  }
  return d_row;
}

StandardizationTerm::StandardizationTerm(const Arguments& arguments,
                                         const StandardizationGradient& gradient, int64_t tokens,
                                         int64_t hidden)
    : of_units_(gradient.axis == StandardizationAxis::kUnit) {
  if (!gradient.mean) return;
  const int64_t size = of_units_ ? hidden : tokens;
  mean_ = arguments.vector("standardization.mean", gradient.mean, size);
  slope_ = arguments.vector("standardization.slope", gradient.slope, size);
  rows_ = gradient.rows.now();
  scale_ = gradient.scale.now();
  arguments.require(rows_ >= 0 && rows_ <= tokens, "standardization.rows in [0, T]");
}

double StandardizationTerm::at(int64_t t, int64_t h, double x) const {
  if (t >= rows_) return 0;
  const int64_t i = of_units_ ? h : t;
  return scale_ * mean_[i] + slope_[i] * (x - mean_[i]);
}

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
  const TokenDropout dropout(arguments, op.dropout, op.sequences, tokens);

  std::vector<double> sum(hidden);
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t h = 0; h < hidden; ++h) {
      sum[h] = (op.residual ? residual(t, h) : 0.0) + op.scale * dropout.factor(t, h) * x(t, h);
      if (op.sum) stored_sum(t, h) = sum[h];
    }
    const NormalizedRow row = op.normalize ? normalize(sum, op.epsilon) : NormalizedRow{sum, 1};
    if (op.inverse_stddev) inverse_stddev[t] = row.inverse_stddev;
    for (int64_t h = 0; h < hidden; ++h) {
      if (op.normalized) normalized(t, h) = row.values[h];
      y(t, h) = gamma[h] * row.values[h] + beta[h];
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
                    "no standardization where there is LayerNorm");
  const StandardizationTerm standardization(arguments, op.standardization, tokens, hidden);
  const ConstMatrix gamma = arguments.vector("gamma", op.gamma, hidden);
  ConstMatrix other;
  if (op.d_sum) other = arguments.matrix("d_sum", op.d_sum, tokens, hidden);
  const CopiedOutput output(arguments, "d_x", op.d_x, op.d_x_float8, tokens, hidden, DType::kE5M2);
  const Matrix& d_x = output.matrix();
  arguments.require(tokens == 0 || op.d_residual.data != d_x.data,
                    "d_residual and d_x are different memory");
  Matrix d_residual;
  if (op.d_residual) d_residual = arguments.matrix("d_residual", op.d_residual, tokens, hidden);
  const Matrix d_gamma = arguments.vector("d_gamma", op.d_gamma, hidden);
  const Matrix d_beta = arguments.vector("d_beta", op.d_beta, hidden);
  if (!op.accumulate) clear(d_gamma), clear(d_beta);
  const TokenDropout dropout(arguments, op.dropout, op.sequences, tokens);
  const Sums sums(arguments, "d_x_sums", op.d_x_sums, hidden);

  std::vector<double> d_normalized(hidden);
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t h = 0; h < hidden; ++h) {
      d_normalized[h] = gamma[h] * dy(t, h);
      d_gamma[h] += normalized(t, h) * dy(t, h);
      d_beta[h] += dy(t, h);
    }
    std::vector<double> d_sum =
        op.normalize ? normalize_backward(d_normalized, normalized.row(t), inverse_stddev[t])
                     : d_normalized;
    for (int64_t h = 0; h < hidden; ++h) {
      d_sum[h] += standardization.at(t, h, normalized(t, h));
      if (op.d_sum) d_sum[h] += other(t, h);
      d_x(t, h) = op.scale * dropout.factor(t, h) * d_sum[h];
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
  const TokenDropout dropout(arguments, op.dropout, op.sequences, tokens);
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t h = 0; h < hidden; ++h) {
      y(t, h) = residual(t, h) + op.scale * dropout.factor(t, h) * x(t, h);
    }
  }
}

void residual_add_backward(const ResidualAddBackward& op) {
  const Arguments arguments("residual_add_backward");
  const int64_t tokens = op.dy.rows, hidden = op.dy.cols;
  const ConstMatrix dy = arguments.matrix("dy", op.dy, tokens, hidden);
  const CopiedOutput output(arguments, "d_x", op.d_x, op.d_x_float8, tokens, hidden, DType::kE5M2);
  const Matrix& d_x = output.matrix();
  arguments.require(tokens == 0 || op.dy.data != d_x.data, "dy and d_x are different memory");
  const TokenDropout dropout(arguments, op.dropout, op.sequences, tokens);
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t h = 0; h < hidden; ++h) {
      d_x(t, h) = op.scale * dropout.factor(t, h) * dy(t, h);
    }
  }
  output.copy();
}

}  // namespace strata::device::reference
