// The operations of the benchmark: their definitions, and their arguments with shapes and dtypes.
//
// T is the number of tokens of a packed batch, in which sequences follow each other without
// padding. Weights are [out, in]. Gradients overwrite their destination, which need not be
// initialised (without rows they are zero). They are added if `accumulate` is set; gradients of
// embedding tables are always added. Activations and the weights that operations read have the
// compute dtype. Parameter gradients, master weights, optimizer state and saved statistics have the
// master dtype. Outputs share no memory with inputs unless an operation says so.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "device/operations/dropout.h"
#include "device/operations/step_value.h"
#include "device/operations/tensor.h"
#include "device/operations/update_rules.h"

namespace strata::device {

// A bias gradient: the column sums of dy [T, n], where y = x weight^T + bias. An operation that
// computes dy may also compute its sums, so that LinearWeightGradient need not read dy for them.
struct ColumnSums {
  Tensor sums;  // [n] master dtype; absent: not wanted
  bool accumulate = false;
  // Host memory; required with `sums`, and false before the call. A backend that computes the sums,
  // which is optional, sets it to true while issuing. Equal shapes give equal answers. The sums may
  // be of values before rounding.
  bool* done = nullptr;

  STRATA_HOST_DEVICE explicit operator bool() const { return static_cast<bool>(sums); }
};

enum class Activation : uint8_t { kNone, kGelu /* exact, erf */, kGeluTanh, kTanh };

// Both operands of a linear layer's GEMM have the compute dtype, or both are FP8: kE4M3 for x and
// weight, kE5M2 for dy.

// y = activation(x weight^T + bias).
struct LinearForward {
  ConstTensor x;       // [T, in]
  ConstTensor weight;  // [out, in]
  ConstTensor bias;    // [out]
  Activation activation = Activation::kNone;
  Tensor pre_activation;  // [T, out] kept for backward; absent: not stored
  Tensor y;               // [T, out]; only a shape, not stored, if y_float8 has data
  Float8Copy y_float8;
};

// dx = (dy weight) * activation'(pre_activation), or dx += dy weight with `accumulate`.
struct LinearDataGradient {
  ConstTensor dy;                             // [T, out]
  ConstTensor weight;                         // [out, in]
  Activation activation = Activation::kNone;  // activation of the layer that produced x
  ConstTensor pre_activation;                 // [T, in], absent for kNone
  bool accumulate = false;                    // only with kNone, and without dx_float8
  Tensor dx;  // [T, in]; only a shape, not stored, if dx_float8 has data
  Float8Copy dx_float8;
  ColumnSums dx_sums;  // only with an activation
};

// d_weight = dy^T x, d_bias = column sums of dy; or += with `accumulate`.
struct LinearWeightGradient {
  ConstTensor x;   // [T, in]
  ConstTensor dy;  // [T, out]
  bool accumulate = false;
  Tensor d_weight;  // [out, in] master dtype
  Tensor d_bias;    // [out] master dtype; absent if ColumnSums has computed it
};

// dx = dy * activation'(pre_activation); dx may be dy.
struct ActivationBackward {
  Activation activation = Activation::kNone;
  ConstTensor dy;              // [M, n]
  ConstTensor pre_activation;  // [M, n]
  Tensor dx;                   // [M, n]
};

// Self-attention within each sequence: softmax(q k^T / sqrt(d)), dropout, times v.
struct AttentionForward {
  ConstTensor qkv;  // [T, 3H]: query, key, value, each heads x d
  Sequences sequences;
  int32_t heads = 0;
  Dropout dropout;  // row: head * 65536 + query position, column: key position
  Tensor context;   // [T, H]
  Float8Copy context_float8;
  Tensor log_sum_exp;  // [T, heads] master dtype, over the scaled scores of each row
};

struct AttentionBackward {
  ConstTensor qkv;          // [T, 3H]
  ConstTensor context;      // [T, H]; a backend need not read it
  ConstTensor d_context;    // [T, H]
  ConstTensor log_sum_exp;  // [T, heads] master dtype
  Sequences sequences;
  int32_t heads = 0;
  Dropout dropout;
  Tensor d_qkv;  // [T, 3H]; only a shape, not stored, if d_qkv_float8 has data
  Float8Copy d_qkv_float8;
};

// The axis that the standardization loss takes mean and variance over.
enum class StandardizationAxis : uint8_t {
  kUnit,   // per hidden unit, over tokens
  kToken,  // per token, over its hidden units
};

// Gradient of the standardization loss with respect to x [T, H], from the results of
// StandardizationLoss: scale * mean + slope * (x - mean) in the first `rows` rows, else 0.
struct StandardizationGradient {
  StandardizationAxis axis = StandardizationAxis::kUnit;
  ConstTensor mean;         // [H] or [T] master dtype; absent: no such loss
  ConstTensor slope;        // same shape as mean
  StepValue<float> scale;   // StandardizationLoss::gradient_scale
  StepValue<int32_t> rows;  // at most T
};

// sum = residual + scale * dropout(x), y = LayerNorm(sum), or gamma * sum + beta.
struct ResidualLayerNormForward {
  ConstTensor x;          // [T, H]
  ConstTensor residual;   // [T, H], absent: none
  float scale = 1.0f;     // layer-dropping factor, above 0; 1 without pre-LN
  ConstTensor gamma;      // [H]
  ConstTensor beta;       // [H]
  bool normalize = true;  // false: y = gamma * sum + beta, and `normalized` keeps the sum
  float epsilon = 1e-12f;
  Dropout dropout;      // row: position in the sequence, column: hidden unit
  Sequences sequences;  // may be empty without dropout
  Tensor normalized;    // [T, H] kept for backward; absent: not stored
  Tensor
      inverse_stddev;  // [T] master dtype, kept for backward; absent: not stored, or not normalized
  Tensor sum;          // [T, H] may be the residual; absent (as without pre-LN): not stored
  Tensor y;            // [T, H]
  Float8Copy y_float8;
};

// d_x = scale * dropout(g), d_residual = g. Here g is d_sum plus the gradient of LayerNorm's input;
// without normalization it is d_sum + gamma * dy + the standardization loss's gradient.
struct ResidualLayerNormBackward {
  ConstTensor dy;     // [T, H]
  ConstTensor d_sum;  // [T, H] gradient from other readers of sum; absent (as without pre-LN): 0
  ConstTensor normalized;                   // [T, H]
  ConstTensor inverse_stddev;               // [T] master dtype
  ConstTensor gamma;                        // [H]
  bool normalize = true;                    // as in forward; false: inverse_stddev is absent
  StandardizationGradient standardization;  // with respect to the sum; absent if forward normalized
  float scale = 1.0f;                       // 1 without pre-LN
  Dropout dropout;
  Sequences sequences;
  // Either d_x or d_residual may be d_sum; d_x and d_residual never share memory.
  Tensor d_x;  // [T, H] gradient of x; only a shape, not stored, if d_x_float8 has data
  Float8Copy d_x_float8;
  ColumnSums d_x_sums;
  Tensor d_residual;        // [T, H] gradient of the residual, absent: none
  bool accumulate = false;  // into d_gamma and d_beta
  Tensor d_gamma;           // [H] master dtype
  Tensor d_beta;            // [H] master dtype
};

// For pre-LN only: y = residual + scale * dropout(x).
struct ResidualAddForward {
  ConstTensor x;         // [T, H]
  ConstTensor residual;  // [T, H]
  float scale = 1.0f;
  Dropout dropout;      // as in ResidualLayerNormForward
  Sequences sequences;  // may be empty without dropout
  Tensor y;             // [T, H] may be the residual
};

// For pre-LN only: d_x = scale * dropout(dy). The residual's gradient is dy itself.
struct ResidualAddBackward {
  ConstTensor dy;  // [T, H]
  float scale = 1.0f;
  Dropout dropout;
  Sequences sequences;
  Tensor d_x;  // [T, H], never dy's memory; only a shape, not stored, if d_x_float8 has data
  Float8Copy d_x_float8;
};

// y = dropout(LayerNorm(sum)), or dropout(gamma * sum + beta), sum = word[token] +
// position[position] + segment[segment].
struct EmbeddingsForward {
  const int32_t* token_ids = nullptr;    // [T]
  const int32_t* segment_ids = nullptr;  // [T]
  const int32_t* positions = nullptr;    // [T]
  Sequences sequences;
  ConstTensor word;       // [V, H]
  ConstTensor position;   // [P, H]
  ConstTensor segment;    // [2, H]
  ConstTensor gamma;      // [H]
  ConstTensor beta;       // [H]
  bool normalize = true;  // as in ResidualLayerNormForward
  float epsilon = 1e-12f;
  Dropout dropout;        // row: position in the sequence, column: hidden unit
  Tensor normalized;      // [T, H] kept for backward; absent: not stored
  Tensor inverse_stddev;  // [T] master dtype; absent: not stored
  Tensor y;               // [T, H]
  Float8Copy y_float8;
};

struct EmbeddingsBackward {
  const int32_t* token_ids = nullptr;    // [T]
  const int32_t* segment_ids = nullptr;  // [T]
  const int32_t* positions = nullptr;    // [T]
  Sequences sequences;
  ConstTensor dy;              // [T, H]
  ConstTensor normalized;      // [T, H]
  ConstTensor inverse_stddev;  // [T] master dtype
  ConstTensor gamma;           // [H]
  bool normalize = true;       // this and the next as in ResidualLayerNormBackward
  StandardizationGradient standardization;
  Dropout dropout;
  Tensor d_word;            // [V, H] master dtype, added to
  Tensor d_position;        // [P, H] master dtype, added to
  Tensor d_segment;         // [2, H] master dtype, added to
  bool accumulate = false;  // into d_gamma and d_beta
  Tensor d_gamma;           // [H] master dtype
  Tensor d_beta;            // [H] master dtype
};

// y[i] = x[rows[i]], or 0 if rows[i] is -1. Both tensors have the compute dtype, or both the master
// dtype.
struct GatherRows {
  ConstTensor x;                  // [T, H]
  const int32_t* rows = nullptr;  // [M], each in [-1, T)
  Tensor y;                       // [M, H]
};

// dx[rows[i]] += dy[i]; rows[i] = -1 is skipped, the others are distinct. Both tensors have the
// compute dtype, or both the master dtype.
struct ScatterAddRows {
  ConstTensor dy;                 // [M, H]
  const int32_t* rows = nullptr;  // [M], each in [-1, T)
  Tensor dx;                      // [T, H], added to
};

// Counts of a loss operation; accumulates over calls until cleared.
struct LossTotals {
  double loss = 0;      // sum of cross-entropies in nats
  int64_t correct = 0;  // rows whose label has the highest score; ties go to the lower class
  int64_t count = 0;    // rows

  double mean() const { return count > 0 ? loss / static_cast<double>(count) : 0.0; }
  double accuracy() const {
    return count > 0 ? static_cast<double>(correct) / static_cast<double>(count) : 0.0;
  }
  LossTotals& operator+=(const LossTotals& other) {
    loss += other.loss;
    correct += other.correct;
    count += other.count;
    return *this;
  }
};

// Softmax cross-entropy of x weight^T + bias against labels, and its gradient, without storing the
// probabilities. Serves the masked-LM head (C = vocabulary) and the next-sentence head (C = 2). A
// row labelled -1 has no loss and no gradients, and is not counted.
struct ClassifierLoss {
  ConstTensor x;                    // [M, H]
  ConstTensor weight;               // [C, H]
  ConstTensor bias;                 // [C]
  const int32_t* labels = nullptr;  // [M], each in [-1, C)
  StepValue<float> gradient_scale;  // d(total loss)/d(row's cross-entropy)
  Tensor d_x;                       // [M, H]; absent: evaluation only, no gradients are computed
  bool accumulate = false;          // into d_weight and d_bias
  Tensor d_weight;                  // [C, H] master dtype
  Tensor d_bias;                    // [C] master dtype
  LossTotals* totals = nullptr;     // device memory, added to
};

// The standardization loss of x (Collins et al. 2019, arXiv 1903.00925) and the parts of its
// gradient. The loss is 1/2 (mean^2 + variance - log variance - 1) for every unit or token, the
// Kullback-Leibler divergence of a normal distribution from the standard one. Below a variance of
// kLeastVariance the tangent replaces the logarithm, so that the slope is finite. The sums depend
// only on the shapes, not on the number of threads.
struct StandardizationLoss {
  ConstTensor x;            // [T, H]
  StepValue<int32_t> rows;  // only this many first rows count, at most T
  StandardizationAxis axis = StandardizationAxis::kUnit;
  StepValue<float> gradient_scale;  // d(total loss)/d(sum over rows of a row's loss) / H
  Tensor mean;                      // [H] or [T] master dtype, over the rows that count
  Tensor slope;                     // same shape as mean: gradient_scale * (1 - 1 / variance)
  // Device memory, added to. A row's loss is the mean over all units, or that of the token.
  // `correct` does not change.
  LossTotals* totals = nullptr;
  static constexpr float kLeastVariance = 1e-6f;
};

// Loss of one unit or token.
STRATA_HOST_DEVICE inline double standardization_loss(double mean, double variance) {
  constexpr double kLeast = StandardizationLoss::kLeastVariance;
  const double log_variance =
      variance < kLeast ? std::log(kLeast) + variance / kLeast - 1 : std::log(variance);
  return (mean * mean + variance - log_variance - 1) / 2;
}
STRATA_HOST_DEVICE inline double standardization_slope(double gradient_scale, double variance) {
  constexpr double kLeast = StandardizationLoss::kLeastVariance;
  return gradient_scale * (1 - 1 / (variance < kLeast ? kLeast : variance));
}

// destination = scale * source, converting between dtypes; both may be the same tensor. Like
// L2NormSquared and ClipToNorm it takes f32, bf16 and f16 on every device, because gradients may be
// reduced in each. Conversion between bf16 and f16 is not supported.
struct Convert {
  ConstTensor source;  // [n]
  float scale = 1.0f;
  Tensor destination;  // [n]
};

// norm_squared += sum of squares, accumulated in f64.
struct L2NormSquared {
  ConstTensor x;                   // [n]
  double* norm_squared = nullptr;  // device memory
};

// destination = x * min(1, max_norm / sqrt(norm_squared)), converting between dtypes.
struct ClipToNorm {
  Tensor x;                              // [n]
  const double* norm_squared = nullptr;  // device memory
  float max_norm = 1.0f;
  Tensor destination;  // [n]; absent: x
};

// Sums of squares over one tensor, for LAMB's trust ratio.
struct LambNorms {
  double weights = 0;    // ||w||^2
  double direction = 0;  // ||u||^2

  LambNorms& operator+=(const LambNorms& other) {
    weights += other.weights;
    direction += other.direction;
    return *this;
  }
  // Returns ||w|| / ||u||, or 1 if either is zero.
  STRATA_HOST_DEVICE double trust_ratio() const {
    return weights > 0 && direction > 0 ? std::sqrt(weights / direction) : 1.0;
  }
};

// First half of LAMB (You et al. 2020, algorithm 2) over a flat range within one tensor, as in
// MLCommons' TensorFlow reference (lamb_optimizer_v1.py): both moments are bias-corrected, and
// epsilon is added after the root. g' is Adam's; m = b1 m + (1-b1) g'; v = b2 v + (1-b2) g'^2; u =
// c1 m / (sqrt(c2 v) + epsilon) + weight_decay * w, where c1 and c2 are the corrections. u
// overwrites the gradient; norms += sums of w^2 and u^2. The sums are accumulated in f64 and depend
// only on the range, not on the number of threads, so that ranks stay bit-identical.
struct LambDirection {
  ConstTensor weights;   // [n] master dtype
  Tensor gradients;      // [n] master dtype, in: g, out: u
  Tensor first_moment;   // [n] master dtype
  Tensor second_moment;  // [n] master dtype
  StepValue<BiasCorrections> corrections;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float epsilon = 1e-6f;
  float weight_decay = 0;
  GradientClip clip;
  LambNorms* norms = nullptr;  // device memory, added to
};

// Second half of LAMB, once the whole tensor's directions are known: w -= lr * trust_ratio * u.
struct LambApply {
  Tensor weights;                    // [n] master dtype
  Tensor compute_weights;            // [n] compute dtype; absent if compute reads the weights
  ConstTensor directions;            // [n] master dtype, in the gradients' memory
  const LambNorms* norms = nullptr;  // device memory
  StepValue<float> learning_rate;
};

// The part of one tensor that lies in a flat range.
struct LambPart {
  int64_t size = 0;
  LambNorms* norms = nullptr;  // device memory; null if the tensor does not decay
  bool first = false;          // the tensor's first part in this step, which overwrites its norms
};

// Applies LambDirection to every part with norms, and adds to those norms. Applies AdamUpdate
// without weight decay to the other parts, which is LAMB with a trust ratio of 1.
struct LambDirections {
  AdamUpdate adam;                  // arguments for the whole range
  Tensor directions;                // same memory as adam.gradients
  std::span<const LambPart> parts;  // host memory; the parts fill the range
};

// Applies LambApply to every part with norms, which must be complete; skips the others.
struct LambApplies {
  Tensor weights;                   // [n] master dtype
  Tensor compute_weights;           // [n] compute dtype; absent if compute reads the weights
  ConstTensor directions;           // [n] master dtype
  std::span<const LambPart> parts;  // host memory; the parts fill the range
  StepValue<float> learning_rate;
};

// Copies a tensor to FP8 for GEMMs.
struct RoundToFloat8 {
  ConstTensor x;  // compute dtype
  Float8Copy copy;
};

// Computes the scales of n tensors for the next step: float8_scale of the largest amax in the last
// kFloat8History steps, including `amax`.
struct Float8Update {
  float* scales = nullptr;   // [n, 2]: scale, its inverse
  float* amax = nullptr;     // [n] newest values; cleared afterwards
  float* history = nullptr;  // [n, kFloat8History], newest first
  int64_t count = 0;         // n
  float limit = 1.0f;        // largest number of the format: E4M3 448, E5M2 57344
};

}  // namespace strata::device
