#include "bert/blocks/heads/masked_lm_head.h"

namespace strata::bert {

using device::Tensor;

MaskedLmHead::MaskedLmHead(const BlockContext& context, const ParameterLayout& layout)
    : context_(context),
      layout_(layout),
      transform_(context, layout.transform),
      norm_(context, layout.transform_norm, RowsOf::kMaskedPositions) {}

MaskedLmHead::Saved MaskedLmHead::make_saved() const {
  const auto buffer = [&] {
    return context_.activation_buffer(context_.capacity.masked * context_.config.hidden_size);
  };
  return {.gathered = buffer(),
          .transform_pre = buffer(),
          .transform = buffer(),
          .out = buffer(),
          .norm = norm_.make_saved(),
          .d_out = buffer(),
          .d_gathered = buffer()};
}

Tensor MaskedLmHead::rows(const device::Buffer& buffer, const MicroBatch& micro_batch) const {
  return context_.activation(buffer, micro_batch.batch->masked, context_.config.hidden_size);
}

void MaskedLmHead::forward(const MicroBatch& micro_batch, const Saved& saved,
                           device::ConstTensor hidden, device::LossTotals* totals) const {
  const DeviceBatch& batch = *micro_batch.batch;
  if (batch.masked == 0) {
    // Cleared here, not in backward, because the next micro-batch's forward may add to them.
    if (micro_batch.training && !micro_batch.accumulate) clear_gradients();
    return;
  }
  ParameterStore& parameters = context_.parameters;
  const bool training = micro_batch.training;
  const Tensor gathered = rows(saved.gathered, micro_batch);
  const Tensor transform = rows(saved.transform, micro_batch);
  const Tensor out = rows(saved.out, micro_batch);
  context_.backend.gather_rows(kCompute,
                               {.x = hidden, .rows = batch.masked_positions, .y = gathered});
  transform_.forward(micro_batch, {},
                     {.x = gathered,
                      .activation = context_.config.activation,
                      .pre_activation = rows(saved.transform_pre, micro_batch),
                      .y = transform});
  norm_.forward(micro_batch, saved.norm, {.x = transform, .y = out});
  context_.backend.classifier_loss(
      kCompute, {.x = out,
                 .weight = parameters.weight(layout_.word_embeddings),
                 .bias = parameters.weight(layout_.masked_lm_bias),
                 .labels = batch.masked_ids,
                 .gradient_scale = device::value_at(&micro_batch.step->masked_lm_scale),
                 .d_x = training ? rows(saved.d_out, micro_batch) : Tensor{},
                 .accumulate = micro_batch.accumulate,
                 .d_weight = training ? parameters.gradient(layout_.word_embeddings) : Tensor{},
                 .d_bias = training ? parameters.gradient(layout_.masked_lm_bias) : Tensor{},
                 .totals = totals});
}

void MaskedLmHead::backward(const MicroBatch& micro_batch, const Saved& saved,
                            Tensor d_hidden) const {
  const DeviceBatch& batch = *micro_batch.batch;
  if (batch.masked == 0) return;
  // d_transform first holds the gradient of LayerNorm's output, d_gathered that of its input.
  const Tensor d_transform = rows(saved.d_out, micro_batch);
  const Tensor d_gathered = rows(saved.d_gathered, micro_batch);
  norm_.backward(micro_batch, saved.norm, {.dy = d_transform, .d_x = d_gathered});
  context_.backend.activation_backward(kCompute,
                                       {.activation = context_.config.activation,
                                        .dy = d_gathered,
                                        .pre_activation = rows(saved.transform_pre, micro_batch),
                                        .dx = d_transform});
  transform_.weight_gradient(micro_batch, {}, rows(saved.gathered, micro_batch), d_transform);
  transform_.data_gradient(micro_batch, {.dy = d_transform, .dx = d_gathered});
  context_.backend.scatter_add_rows(
      kCompute, {.dy = d_gathered, .rows = batch.masked_positions, .dx = d_hidden});
}

void MaskedLmHead::clear_gradients() const {
  for (const Parameter* p :
       {&layout_.transform.weight, &layout_.transform.bias, &layout_.transform_norm.gamma,
        &layout_.transform_norm.beta, &layout_.masked_lm_bias, &layout_.word_embeddings}) {
    context_.parameters.clear_gradient(*p);
  }
}

}  // namespace strata::bert
