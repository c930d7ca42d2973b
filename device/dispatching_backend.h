// What backends share whose operations are functions of a context.
#pragma once

#include "device/backend.h"

namespace strata::device {

// `Operations` has a static function for every operation of Backend, under its name: it takes what
// on(stream) makes, and the operation's arguments.
template <typename Operations, typename Context>
class DispatchingBackend : public Backend {
 public:
  void linear_forward(Stream s, const LinearForward& op) final {
    Operations::linear_forward(on(s, "linear_forward"), op);
  }
  void linear_data_gradient(Stream s, const LinearDataGradient& op) final {
    Operations::linear_data_gradient(on(s, "linear_data_gradient"), op);
  }
  void linear_weight_gradient(Stream s, const LinearWeightGradient& op) final {
    Operations::linear_weight_gradient(on(s, "linear_weight_gradient"), op);
  }
  void activation_backward(Stream s, const ActivationBackward& op) final {
    Operations::activation_backward(on(s, "activation_backward"), op);
  }
  void attention_forward(Stream s, const AttentionForward& op) final {
    Operations::attention_forward(on(s, "attention_forward"), op);
  }
  void attention_backward(Stream s, const AttentionBackward& op) final {
    Operations::attention_backward(on(s, "attention_backward"), op);
  }
  void residual_layernorm_forward(Stream s, const ResidualLayerNormForward& op) final {
    Operations::residual_layernorm_forward(on(s, "residual_layernorm_forward"), op);
  }
  void residual_layernorm_backward(Stream s, const ResidualLayerNormBackward& op) final {
    Operations::residual_layernorm_backward(on(s, "residual_layernorm_backward"), op);
  }
  void embeddings_forward(Stream s, const EmbeddingsForward& op) final {
    Operations::embeddings_forward(on(s, "embeddings_forward"), op);
  }
  void embeddings_backward(Stream s, const EmbeddingsBackward& op) final {
    Operations::embeddings_backward(on(s, "embeddings_backward"), op);
  }
  void gather_rows(Stream s, const GatherRows& op) final {
    Operations::gather_rows(on(s, "gather_rows"), op);
  }
  void scatter_add_rows(Stream s, const ScatterAddRows& op) final {
    Operations::scatter_add_rows(on(s, "scatter_add_rows"), op);
  }
  void classifier_loss(Stream s, const ClassifierLoss& op) final {
    Operations::classifier_loss(on(s, "classifier_loss"), op);
  }
  void convert(Stream s, const Convert& op) final { Operations::convert(on(s, "convert"), op); }
  void l2_norm_squared(Stream s, const L2NormSquared& op) final {
    Operations::l2_norm_squared(on(s, "l2_norm_squared"), op);
  }
  void clip_to_norm(Stream s, const ClipToNorm& op) final {
    Operations::clip_to_norm(on(s, "clip_to_norm"), op);
  }
  void adam_update(Stream s, const AdamUpdate& op) final {
    Operations::adam_update(on(s, "adam_update"), op);
  }
  void lamb_direction(Stream s, const LambDirection& op) final {
    Operations::lamb_direction(on(s, "lamb_direction"), op);
  }
  void lamb_apply(Stream s, const LambApply& op) final {
    Operations::lamb_apply(on(s, "lamb_apply"), op);
  }
  void madgrad_update(Stream s, const MadgradUpdate& op) final {
    Operations::madgrad_update(on(s, "madgrad_update"), op);
  }
  void acclip_update(Stream s, const AcClipUpdate& op) final {
    Operations::acclip_update(on(s, "acclip_update"), op);
  }
  void residual_add_forward(Stream s, const ResidualAddForward& op) final {
    Operations::residual_add_forward(on(s, "residual_add_forward"), op);
  }
  void residual_add_backward(Stream s, const ResidualAddBackward& op) final {
    Operations::residual_add_backward(on(s, "residual_add_backward"), op);
  }
  void standardization_loss(Stream s, const StandardizationLoss& op) final {
    Operations::standardization_loss(on(s, "standardization_loss"), op);
  }
  void round_to_float8(Stream s, const RoundToFloat8& op) final {
    Operations::round_to_float8(on(s, "round_to_float8"), op);
  }
  void float8_update(Stream s, const Float8Update& op) final {
    Operations::float8_update(on(s, "float8_update"), op);
  }

 protected:
  // What an operation of this name works with on `stream`, for as long as it is called.
  virtual Context on(Stream stream, const char* operation) = 0;
};

}  // namespace strata::device
