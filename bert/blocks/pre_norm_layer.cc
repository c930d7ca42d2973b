#include "bert/blocks/pre_norm_layer.h"

#include <fmt/format.h>

#include "bert/blocks/workspace.h"

namespace strata::bert {

using device::DropoutSite;
using device::Tensor;

PreNormLayer::PreNormLayer(const BlockContext& context, const ParameterLayout& layout, size_t layer,
                           int index)
    : Block(context, fmt::format("layer_{}", layer), index,
            layout.group(fmt::format("layer_{}", layer))),
      layer_(layer),
      attention_norm_(context, layout.layers[layer].attention_norm),
      query_key_value_(context, layout.layers[layer].query_key_value),
      attention_(context, layer),
      attention_output_(context, layout.layers[layer].attention_output),
      output_norm_(context, layout.layers[layer].output_norm,
                   {context.config.hidden_dropout, layer, DropoutSite::kAttentionOutput}),
      intermediate_(context, layout.layers[layer].intermediate),
      output_(context, layout.layers[layer].output) {}

std::unique_ptr<BlockActivations> PreNormLayer::make_activations() const {
  const int64_t t = context_.capacity.tokens, h = context_.config.hidden_size,
                i = context_.config.intermediate_size;
  auto saved = std::make_unique<Saved>();
  saved->attention_norm = attention_norm_.make_saved();
  saved->attention_input = context_.activation_buffer(t * h);
  saved->query_key_value = query_key_value_.make_saved();
  saved->attention = attention_.make_saved();
  saved->attention_output = attention_output_.make_saved();
  saved->output_norm = output_norm_.make_saved();
  saved->intermediate_input = context_.activation_buffer(t * h);
  saved->intermediate_linear = intermediate_.make_saved();
  saved->output = output_.make_saved();
  saved->intermediate_pre = context_.activation_buffer(t * i);
  saved->intermediate = context_.activation_buffer(t * i);
  return saved;
}

void PreNormLayer::forward(const MicroBatch& micro_batch, const Activations& activations) {
  const int64_t t = micro_batch.tokens(), h = context_.config.hidden_size,
                i = context_.config.intermediate_size;
  const auto& saved = activations.of<Saved>(index());
  const float scale = micro_batch.layer_scale(layer_);
  const Tensor x = activations.input(index(), t), y = activations.output(index(), t);
  if (scale == 0) return context_.backend.convert(kCompute, {.source = x, .destination = y});

  const Tensor attention_input = context_.activation(saved.attention_input, t, h);
  const Tensor intermediate_input = context_.activation(saved.intermediate_input, t, h);
  const Tensor intermediate = context_.activation(saved.intermediate, t, i);
  const Tensor sublayer = context_.activation(context_.workspace.sublayer, t, h);
  const Tensor stream = context_.activation(context_.workspace.d_residual, t, h);

  attention_norm_.forward(micro_batch, saved.attention_norm, {.x = x, .y = attention_input});
  query_key_value_.forward(
      micro_batch, saved.query_key_value,
      {.x = attention_input, .y = attention_.query_key_value(micro_batch, saved.attention)});
  attention_.forward(micro_batch, saved.attention, {});
  attention_output_.forward(micro_batch, saved.attention_output,
                            {.x = attention_.context(micro_batch, saved.attention), .y = sublayer});

  output_norm_.forward(
      micro_batch, saved.output_norm,
      {.x = sublayer, .residual = x, .scale = scale, .sum = stream, .y = intermediate_input});
  intermediate_.forward(micro_batch, saved.intermediate_linear,
                        {.x = intermediate_input,
                         .activation = context_.config.activation,
                         .pre_activation = context_.activation(saved.intermediate_pre, t, i),
                         .y = intermediate});
  output_.forward(micro_batch, saved.output, {.x = intermediate, .y = sublayer});
  context_.backend.residual_add_forward(
      kCompute,
      {.x = sublayer,
       .residual = stream,
       .scale = scale,
       .dropout = micro_batch.dropout(context_.config.hidden_dropout, layer_, DropoutSite::kOutput),
       .sequences = micro_batch.batch->sequences,
       .y = y});
}

void PreNormLayer::backward_half(const MicroBatch& micro_batch, const Activations& activations) {
  const int64_t t = micro_batch.tokens(), h = context_.config.hidden_size,
                i = context_.config.intermediate_size;
  const float scale = micro_batch.layer_scale(layer_);
  if (scale == 0) {
    if (!micro_batch.accumulate) context_.parameters.clear_gradients(gradients());
    return;  // the input's gradient equals the output's
  }
  const auto& saved = activations.of<Saved>(index());
  const Workspace& workspace = context_.workspace;
  // Gradient of the output, then of u, then of the input.
  const Tensor d_stream = activations.gradient(t);
  const Tensor d_sublayer = context_.activation(workspace.sublayer, t, h);
  const Tensor d_normed = context_.activation(workspace.d_residual, t, h);
  const Tensor d_intermediate = context_.activation(workspace.d_intermediate, t, i);

  bool intermediate_bias = false;
  context_.backend.residual_add_backward(
      kCompute,
      {.dy = d_stream,
       .scale = scale,
       .dropout = micro_batch.dropout(context_.config.hidden_dropout, layer_, DropoutSite::kOutput),
       .sequences = micro_batch.batch->sequences,
       .d_x = d_sublayer});
  output_.weight_gradient(micro_batch, saved.output, context_.activation(saved.intermediate, t, i),
                          d_sublayer);
  output_.data_gradient(micro_batch,
                        {.dy = d_sublayer,
                         .activation = context_.config.activation,
                         .pre_activation = context_.activation(saved.intermediate_pre, t, i),
                         .dx = d_intermediate,
                         .dx_sums = intermediate_.bias_sums(micro_batch, intermediate_bias)});
  intermediate_.weight_gradient(micro_batch, saved.intermediate_linear,
                                context_.activation(saved.intermediate_input, t, h), d_intermediate,
                                intermediate_bias);
  intermediate_.data_gradient(micro_batch, {.dy = d_intermediate, .dx = d_normed});
}

void PreNormLayer::backward_rest(const MicroBatch& micro_batch, const Activations& activations) {
  const int64_t t = micro_batch.tokens(), h = context_.config.hidden_size;
  const float scale = micro_batch.layer_scale(layer_);
  if (scale == 0) return;
  const auto& saved = activations.of<Saved>(index());
  const Workspace& workspace = context_.workspace;
  // Gradient of the output, then of u, then of the input.
  const Tensor d_stream = activations.gradient(t);
  const Tensor d_sublayer = context_.activation(workspace.sublayer, t, h);
  const Tensor d_normed = context_.activation(workspace.d_residual, t, h);
  const Tensor d_context = context_.activation(workspace.d_context, t, h);
  const Tensor d_query_key_value = context_.activation(workspace.d_query_key_value, t, 3 * h);

  bool attention_output_bias = false;
  output_norm_.backward(
      micro_batch, saved.output_norm,
      {.dy = d_normed,
       .d_sum = d_stream,
       .scale = scale,
       .d_x = d_sublayer,
       .d_x_sums = attention_output_.bias_sums(micro_batch, attention_output_bias),
       .d_residual = d_stream});
  attention_output_.weight_gradient(micro_batch, saved.attention_output,
                                    attention_.context(micro_batch, saved.attention), d_sublayer,
                                    attention_output_bias);
  attention_output_.data_gradient(micro_batch, {.dy = d_sublayer, .dx = d_context});
  attention_.backward(micro_batch, saved.attention, d_context, d_query_key_value, {});
  query_key_value_.weight_gradient(micro_batch, saved.query_key_value,
                                   context_.activation(saved.attention_input, t, h),
                                   d_query_key_value);
  query_key_value_.data_gradient(micro_batch, {.dy = d_query_key_value, .dx = d_normed});
  attention_norm_.backward(micro_batch, saved.attention_norm,
                           {.dy = d_normed, .d_sum = d_stream, .d_x = d_stream});
}

}  // namespace strata::bert
