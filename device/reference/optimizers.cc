// Adam with decoupled weight decay (Loshchilov & Hutter 2019, algorithm 2) and LAMB (You et al.
// 2020, algorithm 2).
#include <algorithm>
#include <cmath>

#include "device/reference/arguments.h"
#include "device/reference/operations.h"

namespace strata::device::reference {
namespace {

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
        scale_(op.clip.scale) {
    arguments.require(corrections_.first >= 1 && corrections_.second >= 1,
                      "bias corrections are at least 1");
    const GradientClip& clip = op.clip;
    if (clip.norm_squared) {
      scale_ *= std::min(1.0, clip.max_norm / std::sqrt(*clip.norm_squared));
    }
  }

  // Takes gradient i into the moments; the direction in which weight `w` goes down.
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

// Where compute reads weights of its own; none where `tensor` is absent.
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
