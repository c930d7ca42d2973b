// Losses: softmax cross-entropy of a linear classifier; standardization.
#include <algorithm>
#include <cmath>
#include <vector>

#include "device/plain/softmax.h"
#include "device/reference/arguments.h"
#include "device/reference/operations.h"

namespace strata::device::reference {

void classifier_loss(const ClassifierLoss& op) {
  const Arguments arguments("classifier_loss");
  const int64_t rows = op.x.rows, hidden = op.weight.cols, classes = op.weight.rows;
  const ConstMatrix x = arguments.matrix("x", op.x, rows, hidden);
  const ConstMatrix weight = arguments.matrix("weight", op.weight, classes, hidden);
  const ConstMatrix bias = arguments.vector("bias", op.bias, classes);
  arguments.indices_or_none("labels", op.labels, rows, classes);
  arguments.require(op.totals != nullptr, "totals is given");
  Matrix d_x, d_weight, d_bias;
  if (op.d_x) {
    d_x = arguments.matrix("d_x", op.d_x, rows, hidden);
    d_weight = arguments.matrix("d_weight", op.d_weight, classes, hidden);
    d_bias = arguments.vector("d_bias", op.d_bias, classes);
    clear(d_x);
    if (!op.accumulate) clear(d_weight), clear(d_bias);
  }

  const double gradient_scale = op.gradient_scale.now();
  std::vector<double> scores(classes);
  for (int64_t m = 0; m < rows; ++m) {
    if (op.labels[m] < 0) continue;
    for (int64_t c = 0; c < classes; ++c) {
      scores[c] = bias[c];
      for (int64_t h = 0; h < hidden; ++h) scores[c] += x(m, h) * weight(c, h);
    }
    const int32_t label = op.labels[m];
    const double normalizer = plain::log_sum_exp(scores.data(), classes);
    const auto best = std::max_element(scores.begin(), scores.end());  // the first in a tie
    op.totals->loss += normalizer - scores[label];
    op.totals->correct += best - scores.begin() == label;
    op.totals->count += 1;
    if (!op.d_x) continue;
    for (int64_t c = 0; c < classes; ++c) {
      const double probability = std::exp(scores[c] - normalizer);
      const double d_score = gradient_scale * (probability - (c == label ? 1.0 : 0.0));
      for (int64_t h = 0; h < hidden; ++h) {
        d_x(m, h) += d_score * weight(c, h);
        d_weight(c, h) += d_score * x(m, h);
      }
      d_bias[c] += d_score;
    }
  }
}

void standardization_loss(const StandardizationLoss& op) {
  const Arguments arguments("standardization_loss");
  const int64_t tokens = op.x.rows, hidden = op.x.cols, rows = op.rows.now();
  const bool of_units = op.axis == StandardizationAxis::kUnit;
  const ConstMatrix x = arguments.matrix("x", op.x, tokens, hidden);
  const Matrix mean = arguments.vector("mean", op.mean, of_units ? hidden : tokens);
  const Matrix slope = arguments.vector("slope", op.slope, of_units ? hidden : tokens);
  arguments.require(rows >= 0 && rows <= tokens, "rows is in [0, T]");
  arguments.require(op.totals != nullptr, "totals is given");
  clear(mean), clear(slope);
  if (rows == 0) return;

  const int64_t groups = of_units ? hidden : rows, elements = of_units ? rows : hidden;
  for (int64_t group = 0; group < groups; ++group) {
    const auto element = [&](int64_t i) { return of_units ? x(i, group) : x(group, i); };
    double variance = 0;
    for (int64_t i = 0; i < elements; ++i) mean[group] += element(i);
    mean[group] /= static_cast<double>(elements);
    for (int64_t i = 0; i < elements; ++i) variance += std::pow(element(i) - mean[group], 2);
    variance /= static_cast<double>(elements);
    // Below the least variance, uses the logarithm's tangent at that point.
    constexpr double kLeast = StandardizationLoss::kLeastVariance;
    const double floored = std::max(variance, kLeast);
    const double log_variance = std::log(floored) + (variance - floored) / kLeast;
    slope[group] = op.gradient_scale.now() * (1 - 1 / floored);
    op.totals->loss += 0.5 * (mean[group] * mean[group] + variance - log_variance - 1) *
                       static_cast<double>(rows) / static_cast<double>(groups);
  }
  op.totals->count += rows;
}

}  // namespace strata::device::reference
