// Adam with decoupled weight decay (Loshchilov & Hutter 2019, algorithm 2), LAMB (You et al. 2020,
// algorithm 2), MADGRAD (Defazio & Jelassi 2021, algorithm 1), ACClip (Zhang et al. 2020,
// algorithm 2) and SGD with momentum.
#include <algorithm>
#include <cmath>

#include "device/reference/arguments.h"
#include "device/reference/operations.h"

namespace strata::device::reference {
namespace {

// Returns the factor of every gradient.
double factor_of(const GradientClip& clip) {
  if (!clip.norm_squared) return clip.scale;
  return clip.scale * std::min(1.0, clip.max_norm / std::sqrt(*clip.norm_squared));
}

// The moments of an AdamUpdate or a LambDirection.
template <typename Op>
class Moments {
 public:
  Moments(const Arguments& arguments, const Op& op, int64_t n)
      : op_(op),
        g_(arguments.vector("gradients", ConstTensor(op.gradients), n)),
        m_(arguments.vector("first_moment", op.first_moment, n)),
        v_(arguments.vector("second_moment", op.second_moment, n)),
        corrections_(op.corrections.now()),
        scale_(factor_of(op.clip)) {
    arguments.require(corrections_.first >= 1 && corrections_.second >= 1,
                      "bias corrections are at least 1");
  }

  // Updates the moments with gradient i and returns the descent direction of weight `w`.
  double update(int64_t i, double w) const {
    const double beta1 = op_.beta1, beta2 = op_.beta2;
    const double gradient = scale_ * g_[i];
    m_[i] = beta1 * m_[i] + (1 - beta1) * gradient;
    v_[i] = beta2 * v_[i] + (1 - beta2) * gradient * gradient;
    return m_[i] * corrections_.first / (std::sqrt(v_[i] * corrections_.second) + op_.epsilon) +
           op_.weight_decay * w;
  }

 private:
  const Op& op_;
  ConstMatrix g_;
  Matrix m_, v_;
  BiasCorrections corrections_;
  double scale_;
};

// Returns the compute weights, or an empty matrix if `tensor` is absent.
Matrix optional_vector(const Arguments& arguments, const Tensor& tensor, int64_t n) {
  return tensor ? arguments.vector("compute_weights", tensor, n) : Matrix{};
}

}  // namespace

void adam_update(const AdamUpdate& op) {
  const Arguments arguments("adam_update");
  const int64_t n = op.weights.cols;
  const Matrix w = arguments.vector("weights", op.weights, n);
  const Matrix compute_weights = optional_vector(arguments, op.compute_weights, n);
  const Moments moments(arguments, op, n);
  const double learning_rate = op.learning_rate.now();
  for (int64_t i = 0; i < n; ++i) {
    w[i] -= learning_rate * moments.update(i, w[i]);
    if (compute_weights.data) compute_weights[i] = w[i];
  }
}

void madgrad_update(const MadgradUpdate& op) {
  const Arguments arguments("madgrad_update");
  const int64_t n = op.weights.cols;
  const Matrix w = arguments.vector("weights", op.weights, n);
  const Matrix compute_weights = optional_vector(arguments, op.compute_weights, n);
  const ConstMatrix g = arguments.vector("gradients", op.gradients, n);
  const Matrix s = arguments.vector("gradient_sum", op.gradient_sum, n);
  const Matrix v = arguments.vector("square_sum", op.square_sum, n);
  const ConstMatrix initial = arguments.vector("initial_weights", op.initial_weights, n);
  arguments.require(op.epsilon > 0, "epsilon is above 0");
  const double factor = factor_of(op.clip), lambda = op.gradient_weight.now();
  const double decay = double{op.learning_rate.now()} * op.weight_decay;
  for (int64_t i = 0; i < n; ++i) {
    const double gradient = factor * g[i];
    s[i] += lambda * gradient;
    v[i] += lambda * gradient * gradient;
    const double average = initial[i] - s[i] / (std::cbrt(v[i]) + op.epsilon);
    w[i] += op.averaging * (average - w[i]) - decay * w[i];
    if (compute_weights.data) compute_weights[i] = w[i];
  }
}

void acclip_update(const AcClipUpdate& op) {
  const Arguments arguments("acclip_update");
  const int64_t n = op.weights.cols;
  const Matrix w = arguments.vector("weights", op.weights, n);
  const Matrix compute_weights = optional_vector(arguments, op.compute_weights, n);
  const ConstMatrix g = arguments.vector("gradients", op.gradients, n);
  const Matrix m = arguments.vector("first_moment", op.first_moment, n);
  const Matrix threshold_power = arguments.vector("threshold_power", op.threshold_power, n);
  arguments.require(op.alpha >= 1 && op.alpha <= 2, "alpha is from 1 to 2");
  const double alpha = op.alpha, beta1 = op.beta1, beta2 = op.beta2;
  const double factor = factor_of(op.clip), rate = op.learning_rate.now();
  for (int64_t i = 0; i < n; ++i) {
    const double gradient = factor * g[i];
    m[i] = beta1 * m[i] + (1 - beta1) * gradient;
    threshold_power[i] =
        beta2 * threshold_power[i] + (1 - beta2) * std::pow(std::abs(gradient), alpha);
    const double threshold = std::pow(threshold_power[i], 1 / alpha);
    const double clipped = std::min(threshold / (std::abs(m[i]) + op.epsilon), 1.0) * m[i];
    w[i] -= rate * (clipped + op.weight_decay * w[i]);
    if (compute_weights.data) compute_weights[i] = w[i];
  }
}

void sgd_update(const SgdUpdate& op) {
  const Arguments arguments("sgd_update");
  const int64_t n = op.weights.cols;
  const Matrix w = arguments.vector("weights", op.weights, n);
  const Matrix compute_weights = optional_vector(arguments, op.compute_weights, n);
  const ConstMatrix g = arguments.vector("gradients", op.gradients, n);
  const Matrix velocity = arguments.vector("velocity", op.velocity, n);
  const double factor = factor_of(op.clip), rate = op.learning_rate.now();
  for (int64_t i = 0; i < n; ++i) {
    velocity[i] = op.momentum * velocity[i] + factor * g[i] + op.weight_decay * w[i];
    w[i] -= rate * velocity[i];
    if (compute_weights.data) compute_weights[i] = w[i];
  }
}

void lamb_direction(const LambDirection& op) {
  const Arguments arguments("lamb_direction");
  arguments.require(op.norms != nullptr, "norms is given");
  const int64_t n = op.weights.cols;
  const ConstMatrix w = arguments.vector("weights", op.weights, n);
  const Matrix directions = arguments.vector("gradients", op.gradients, n);
  const Moments moments(arguments, op, n);
  for (int64_t i = 0; i < n; ++i) {
    const double direction = moments.update(i, w[i]);
    directions[i] = direction;
    op.norms->weights += w[i] * w[i];
    op.norms->direction += direction * direction;
  }
}

void lamb_apply(const LambApply& op) {
  const Arguments arguments("lamb_apply");
  arguments.require(op.norms != nullptr, "norms is given");
  const int64_t n = op.weights.cols;
  const Matrix w = arguments.vector("weights", op.weights, n);
  const ConstMatrix u = arguments.vector("directions", op.directions, n);
  const Matrix compute_weights = optional_vector(arguments, op.compute_weights, n);
  const double rate = op.learning_rate.now() * op.norms->trust_ratio();
  for (int64_t i = 0; i < n; ++i) {
    w[i] -= rate * u[i];
    if (compute_weights.data) compute_weights[i] = w[i];
  }
}

}  // namespace strata::device::reference
