// The operations of the reference backend as free functions; backend.h says what each computes.
#pragma once

#include "device/backend.h"

namespace strata::device::reference {

void linear_forward(const LinearForward& op);
void linear_data_gradient(const LinearDataGradient& op);
void linear_weight_gradient(const LinearWeightGradient& op);
void activation_backward(const ActivationBackward& op);
void attention_forward(const AttentionForward& op);
void attention_backward(const AttentionBackward& op);
void residual_layernorm_forward(const ResidualLayerNormForward& op);
void residual_layernorm_backward(const ResidualLayerNormBackward& op);
void residual_add_forward(const ResidualAddForward& op);
void residual_add_backward(const ResidualAddBackward& op);
void embeddings_forward(const EmbeddingsForward& op);
void embeddings_backward(const EmbeddingsBackward& op);
void gather_rows(const GatherRows& op);
void scatter_add_rows(const ScatterAddRows& op);
void classifier_loss(const ClassifierLoss& op);
void convert(const Convert& op);
void l2_norm_squared(const L2NormSquared& op);
void clip_to_norm(const ClipToNorm& op);
void adam_update(const AdamUpdate& op);
void lamb_direction(const LambDirection& op);
void lamb_apply(const LambApply& op);
void madgrad_update(const MadgradUpdate& op);
void acclip_update(const AcClipUpdate& op);
void standardization_loss(const StandardizationLoss& op);
void round_to_float8(const RoundToFloat8& op);
void float8_update(const Float8Update& op);

}  // namespace strata::device::reference
