// Fully connected layers, y = activation(x weight^T + bias), and activations. A port replaces the
// triple loops by its GEMMs. Sums are in f64.
#include <vector>

#include "device/plain/activation.h"
#include "device/sample/sample_backend.h"

namespace strata::device::sample {
using plain::activate;
using plain::activation_derivative;

void SampleBackend::linear_forward(Stream, const LinearForward& op) {
  const int64_t tokens = op.x.rows, in = op.weight.cols, out = op.weight.rows;
  for (int64_t t = 0; t < tokens; ++t) {
    const float* x = op.x.as<float>() + t * in;
    for (int64_t o = 0; o < out; ++o) {
      const float* weight = op.weight.as<float>() + o * in;
      double sum = op.bias.as<float>()[o];
      for (int64_t i = 0; i < in; ++i) sum += double{x[i]} * weight[i];
      if (op.pre_activation) op.pre_activation.as<float>()[t * out + o] = static_cast<float>(sum);
      op.y.as<float>()[t * out + o] = static_cast<float>(activate(op.activation, sum));
    }
  }
}

void SampleBackend::linear_data_gradient(Stream, const LinearDataGradient& op) {
  const int64_t tokens = op.dy.rows, in = op.weight.cols, out = op.weight.rows;
  std::vector<double> sums(in);
  for (int64_t t = 0; t < tokens; ++t) {
    const float* dy = op.dy.as<float>() + t * out;
    float* dx = op.dx.as<float>() + t * in;
    for (int64_t i = 0; i < in; ++i) sums[i] = op.accumulate ? dx[i] : 0;
    for (int64_t o = 0; o < out; ++o) {
      const float* weight = op.weight.as<float>() + o * in;
      for (int64_t i = 0; i < in; ++i) sums[i] += double{dy[o]} * weight[i];
    }
    for (int64_t i = 0; i < in; ++i) {
      if (op.activation != Activation::kNone) {
        sums[i] *= activation_derivative(op.activation, op.pre_activation.as<float>()[t * in + i]);
      }
      dx[i] = static_cast<float>(sums[i]);
    }
  }
}

// Without tokens the gradients are zero, or unchanged if `accumulate`.
void SampleBackend::linear_weight_gradient(Stream, const LinearWeightGradient& op) {
  const int64_t tokens = op.x.rows, in = op.x.cols, out = op.dy.cols;
  const float *x = op.x.as<float>(), *dy = op.dy.as<float>();
  std::vector<double> sums(in);
  for (int64_t o = 0; o < out; ++o) {
    float* d_weight = op.d_weight.as<float>() + o * in;
    for (int64_t i = 0; i < in; ++i) sums[i] = op.accumulate ? d_weight[i] : 0;
    for (int64_t t = 0; t < tokens; ++t) {
      for (int64_t i = 0; i < in; ++i) sums[i] += double{dy[t * out + o]} * x[t * in + i];
    }
    for (int64_t i = 0; i < in; ++i) d_weight[i] = static_cast<float>(sums[i]);
    float& d_bias = op.d_bias.as<float>()[o];
    double sum = op.accumulate ? d_bias : 0;
    for (int64_t t = 0; t < tokens; ++t) sum += dy[t * out + o];
    d_bias = static_cast<float>(sum);
  }
}

void SampleBackend::activation_backward(Stream, const ActivationBackward& op) {
  const float *dy = op.dy.as<float>(), *pre_activation = op.pre_activation.as<float>();
  for (int64_t i = 0; i < op.dy.size(); ++i) {
    op.dx.as<float>()[i] =
        static_cast<float>(dy[i] * activation_derivative(op.activation, pre_activation[i]));
  }
}

}  // namespace strata::device::sample
