// The operations of the CUDA backend, over storage type T: float, BFloat16 or Float16. Every one
// only issues work on its context's stream. Sums are added in an order that depends on shapes
// alone.
#pragma once

#include "device/backend.h"
#include "device/cuda/runtime/runtime.h"

namespace strata::device::cuda {

// Those over flat ranges, whose tensors say what they hold.
struct FlatOperations {
  static void convert(const Context&, const Convert&);
  static void l2_norm_squared(const Context&, const L2NormSquared&);
  static void clip_to_norm(const Context&, const ClipToNorm&);
  static void adam_update(const Context&, const AdamUpdate&);
  static void lamb_direction(const Context&, const LambDirection&);
  static void lamb_apply(const Context&, const LambApply&);
  static void lamb_directions(const Context&, const LambDirections&);
  static void lamb_applies(const Context&, const LambApplies&);
  static void madgrad_update(const Context&, const MadgradUpdate&);
  static void acclip_update(const Context&, const AcClipUpdate&);
  static void float8_update(const Context&, const Float8Update&);
};

template <typename T>
struct Operations : FlatOperations {
  static void linear_forward(const Context&, const LinearForward&);
  static void linear_data_gradient(const Context&, const LinearDataGradient&);
  static void linear_weight_gradient(const Context&, const LinearWeightGradient&);
  static void activation_forward(const Context&, Activation, const ConstTensor& pre_activation,
                                 const Tensor& y, const Float8Copy& y_float8);
  // Uses scratch slot `slot` if `sums` is given.
  static void activation_backward(const Context&, const ActivationBackward&,
                                  const Float8Copy& dx_float8 = {}, const ColumnSums& sums = {},
                                  int slot = 0);
  static void attention_forward(const Context&, const AttentionForward&);
  static void attention_backward(const Context&, const AttentionBackward&);
  static void residual_layernorm_forward(const Context&, const ResidualLayerNormForward&);
  static void residual_layernorm_backward(const Context&, const ResidualLayerNormBackward&);
  static void residual_add_forward(const Context&, const ResidualAddForward&);
  static void residual_add_backward(const Context&, const ResidualAddBackward&);
  static void embeddings_forward(const Context&, const EmbeddingsForward&);
  static void embeddings_backward(const Context&, const EmbeddingsBackward&);
  static void gather_rows(const Context&, const GatherRows&);
  static void scatter_add_rows(const Context&, const ScatterAddRows&);
  static void classifier_loss(const Context&, const ClassifierLoss&);
  static void standardization_loss(const Context&, const StandardizationLoss&);
  static void round_to_float8(const Context&, const RoundToFloat8&);
};

}  // namespace strata::device::cuda
