// Adam with decoupled weight decay (Loshchilov & Hutter 2019, algorithm 2).
#include <algorithm>
#include <cmath>

#include "device/reference/arguments.h"
#include "device/reference/operations.h"

namespace strata::device::reference {

void adam_update(const AdamUpdate& op) {
  const Arguments arguments("adam_update");
  const int64_t n = op.weights.cols;
  const Matrix w = arguments.vector("weights", op.weights, n);
  const Matrix g = arguments.vector("gradients", op.gradients, n);
  const Matrix m = arguments.vector("first_moment", op.first_moment, n);
  const Matrix v = arguments.vector("second_moment", op.second_moment, n);
  Matrix compute_weights;
  if (op.compute_weights) {
    compute_weights = arguments.vector("compute_weights", op.compute_weights, n);
  }
  arguments.require(op.step >= 1, "step counts from 1");

  double scale = op.gradient_scale;
  if (op.norm_squared) scale *= std::min(1.0, op.max_norm / std::sqrt(*op.norm_squared));
  const double beta1 = op.beta1, beta2 = op.beta2;
  const double correction1 = 1 - std::pow(beta1, static_cast<double>(op.step));
  const double correction2 = 1 - std::pow(beta2, static_cast<double>(op.step));
  for (int64_t i = 0; i < n; ++i) {
    const double gradient = scale * g[i];
    m[i] = beta1 * m[i] + (1 - beta1) * gradient;
    v[i] = beta2 * v[i] + (1 - beta2) * gradient * gradient;
    const double step = m[i] / correction1 / (std::sqrt(v[i] / correction2) + op.epsilon);
    w[i] -= op.learning_rate * (step + op.weight_decay * w[i]);
    g[i] = 0;
    if (op.compute_weights) compute_weights[i] = w[i];
  }
}

}  // namespace strata::device::reference
