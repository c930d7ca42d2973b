// Softmax cross-entropy of a linear classifier, and its gradients, one row after another.
#include <algorithm>
#include <cmath>

#include "device/plain/softmax.h"
#include "device/sample/sample_backend.h"

namespace strata::device::sample {

void SampleBackend::classifier_loss(Stream stream, const ClassifierLoss& op) {
  const int64_t rows = op.x.rows, hidden = op.weight.cols, classes = op.weight.rows;
  const bool training = op.d_x.data != nullptr;
  float *d_weight = op.d_weight.as<float>(), *d_bias = op.d_bias.as<float>();
  if (training) std::fill_n(op.d_x.as<float>(), op.d_x.size(), 0.0f);
  if (training && !op.accumulate) {
    std::fill_n(d_weight, op.d_weight.size(), 0.0f);
    std::fill_n(d_bias, classes, 0.0f);
  }

  float* scores = scratch(stream, classes);
  const float gradient_scale = op.gradient_scale.now();
  for (int64_t m = 0; m < rows; ++m) {
    const int32_t label = op.labels[m];
    if (label < 0) continue;
    const float* x = op.x.as<float>() + m * hidden;
    for (int64_t c = 0; c < classes; ++c) {
      const float* weight = op.weight.as<float>() + c * hidden;
      double score = op.bias.as<float>()[c];
      for (int64_t h = 0; h < hidden; ++h) score += double{x[h]} * weight[h];
      scores[c] = static_cast<float>(score);
    }
    const float* best = std::max_element(scores, scores + classes);  // the first in a tie
    const double log_sum_exp = plain::log_sum_exp(scores, classes);
    op.totals->loss += log_sum_exp - scores[label];
    op.totals->correct += best - scores == label;
    op.totals->count += 1;

    if (!training) continue;
    float* d_x = op.d_x.as<float>() + m * hidden;
    for (int64_t c = 0; c < classes; ++c) {
      const double probability = std::exp(scores[c] - log_sum_exp);
      const auto d_score = static_cast<float>(gradient_scale * (probability - (c == label)));
      const float* weight = op.weight.as<float>() + c * hidden;
      for (int64_t h = 0; h < hidden; ++h) {
        d_x[h] += d_score * weight[h];
        d_weight[c * hidden + h] += d_score * x[h];
      }
      d_bias[c] += d_score;
    }
  }
}

}  // namespace strata::device::sample
