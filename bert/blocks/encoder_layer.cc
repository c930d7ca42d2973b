#include "bert/blocks/encoder_layer.h"

#include <fmt/format.h>

#include "bert/blocks/workspace.h"

namespace strata::bert {

using device::DropoutSite;
using device::Tensor;

namespace {

Linear::Float8 gemm(Float8Scales* scales, size_t layer, int64_t number, const device::Buffer& dy) {
  return {scales, static_cast<int64_t>(layer) * EncoderLayer::kGemms + number, &dy};
}

}  // namespace

EncoderLayer::EncoderLayer(const BlockContext& context, const ParameterLayout& layout, size_t layer,
                           int index, Float8Scales* scales)
    : Block(context, fmt::format("layer_{}", layer), index,
            layout.group(fmt::format("layer_{}", layer))),
      query_key_value_(context, layout.layers[layer].query_key_value,
                       gemm(scales, layer, 0, context.workspace.float8_dy.query_key_value)),
      attention_(context, layer),
      attention_output_(context, layout.layers[layer].attention_output,
                        gemm(scales, layer, 1, context.workspace.float8_dy.attention_output)),
      attention_norm_(context, layout.layers[layer].attention_norm,
                      {context.config.hidden_dropout, layer, DropoutSite::kAttentionOutput}),
      intermediate_(context, layout.layers[layer].intermediate,
                    gemm(scales, layer, 2, context.workspace.float8_dy.intermediate)),
      output_(context, layout.layers[layer].output,
              gemm(scales, layer, 3, context.workspace.float8_dy.output)),
      output_norm_(context, layout.layers[layer].output_norm,
                   {context.config.hidden_dropout, layer, DropoutSite::kOutput}) {}

std::unique_ptr<BlockActivations> EncoderLayer::make_activations() const {
  const int64_t t = context_.capacity.tokens, h = context_.config.hidden_size,
                i = context_.config.intermediate_size;
  auto saved = std::make_unique<Saved>();
  saved->query_key_value = query_key_value_.make_saved();
  saved->attention = attention_.make_saved();
  saved->attention_output = attention_output_.make_saved();
  saved->attention_norm = attention_norm_.make_saved();
  saved->attended = context_.activation_buffer(t * h);
  saved->intermediate_pre = context_.activation_buffer(t * i);
  saved->intermediate = context_.activation_buffer(t * i);
  saved->intermediate_linear = intermediate_.make_saved();
  saved->output = output_.make_saved();
  saved->output_norm = output_norm_.make_saved();
  return saved;
}

device::Float8Copy EncoderLayer::input_copy(const MicroBatch& micro_batch,
                                            const Activations& activations) const {
  return query_key_value_.x_copy(micro_batch, activations.of<Saved>(index()).query_key_value);
}

void EncoderLayer::forward(const MicroBatch& micro_batch, const Activations& activations) {
  const int64_t t = micro_batch.tokens(), h = context_.config.hidden_size,
                i = context_.config.intermediate_size;
  const auto& saved = activations.of<Saved>(index());
  const Tensor x = activations.input(index(), t);
  const Tensor attended = context_.activation(saved.attended, t, h);
  const Tensor intermediate = context_.activation(saved.intermediate, t, i);
  const Tensor sublayer = context_.activation(context_.workspace.sublayer, t, h);

  query_key_value_.forward(micro_batch, saved.query_key_value,
                           {.x = x, .y = attention_.query_key_value(micro_batch, saved.attention)});
  attention_.forward(micro_batch, saved.attention,
                     attention_output_.x_copy(micro_batch, saved.attention_output));
  attention_output_.forward(micro_batch, saved.attention_output,
                            {.x = attention_.context(micro_batch, saved.attention), .y = sublayer});
  attention_norm_.forward(
      micro_batch, saved.attention_norm,
      {.x = sublayer,
       .residual = x,
       .y = attended,
       .y_float8 = intermediate_.x_copy(micro_batch, saved.intermediate_linear)});

  const device::Float8Copy intermediate_copy = output_.x_copy(micro_batch, saved.output);
  intermediate_.forward(micro_batch, saved.intermediate_linear,
                        {.x = attended,
                         .activation = context_.config.activation,
                         .pre_activation = context_.activation(saved.intermediate_pre, t, i),
                         .y = stored(intermediate, intermediate_copy),
                         .y_float8 = intermediate_copy});
  output_.forward(micro_batch, saved.output, {.x = intermediate, .y = sublayer});
  output_norm_.forward(micro_batch, saved.output_norm,
                       {.x = sublayer,
                        .residual = attended,
                        .y = activations.output(index(), t),
                        .y_float8 = output_copy(micro_batch, activations)});
}

void EncoderLayer::backward_half(const MicroBatch& micro_batch, const Activations& activations) {
  const int64_t t = micro_batch.tokens(), h = context_.config.hidden_size,
                i = context_.config.intermediate_size;
  const auto& saved = activations.of<Saved>(index());
  const Workspace& workspace = context_.workspace;
  const Tensor attended = context_.activation(saved.attended, t, h);
  const Tensor d_hidden = activations.gradient(t);  // gradient of the output, then of the input
  const Tensor d_sublayer = context_.activation(workspace.sublayer, t, h);
  const Tensor d_attended = context_.activation(workspace.d_residual, t, h);
  const Tensor d_intermediate = context_.activation(workspace.d_intermediate, t, i);

  bool output_bias = false, intermediate_bias = false;
  const device::Float8Copy output_dy = output_.dy_copy(micro_batch);
  output_norm_.backward(micro_batch, saved.output_norm,
                        {.dy = d_hidden,
                         .d_x = stored(d_sublayer, output_dy),
                         .d_x_float8 = output_dy,
                         .d_x_sums = output_.bias_sums(micro_batch, output_bias),
                         .d_residual = d_attended});
  output_.weight_gradient(micro_batch, saved.output, context_.activation(saved.intermediate, t, i),
                          d_sublayer, output_bias);
  const device::Float8Copy intermediate_dy = intermediate_.dy_copy(micro_batch);
  output_.data_gradient(micro_batch,
                        {.dy = d_sublayer,
                         .activation = context_.config.activation,
                         .pre_activation = context_.activation(saved.intermediate_pre, t, i),
                         .dx = stored(d_intermediate, intermediate_dy),
                         .dx_float8 = intermediate_dy,
                         .dx_sums = intermediate_.bias_sums(micro_batch, intermediate_bias)});
  intermediate_.weight_gradient(micro_batch, saved.intermediate_linear, attended, d_intermediate,
                                intermediate_bias);
  intermediate_.data_gradient(micro_batch,
                              {.dy = d_intermediate, .accumulate = true, .dx = d_attended});
}

void EncoderLayer::backward_rest(const MicroBatch& micro_batch, const Activations& activations) {
  const int64_t t = micro_batch.tokens(), h = context_.config.hidden_size;
  const auto& saved = activations.of<Saved>(index());
  const Workspace& workspace = context_.workspace;
  const Tensor d_hidden = activations.gradient(t);  // gradient of the output, then of the input
  const Tensor d_sublayer = context_.activation(workspace.sublayer, t, h);
  const Tensor d_attended = context_.activation(workspace.d_residual, t, h);
  const Tensor d_context = context_.activation(workspace.d_context, t, h);
  const Tensor d_query_key_value = context_.activation(workspace.d_query_key_value, t, 3 * h);

  bool attention_output_bias = false;
  const device::Float8Copy attention_output_dy = attention_output_.dy_copy(micro_batch);
  attention_norm_.backward(
      micro_batch, saved.attention_norm,
      {.dy = d_attended,
       .d_x = stored(d_sublayer, attention_output_dy),
       .d_x_float8 = attention_output_dy,
       .d_x_sums = attention_output_.bias_sums(micro_batch, attention_output_bias),
       .d_residual = d_hidden});
  attention_output_.weight_gradient(micro_batch, saved.attention_output,
                                    attention_.context(micro_batch, saved.attention), d_sublayer,
                                    attention_output_bias);
  attention_output_.data_gradient(micro_batch, {.dy = d_sublayer, .dx = d_context});
  const device::Float8Copy query_key_value_dy = query_key_value_.dy_copy(micro_batch);
  attention_.backward(micro_batch, saved.attention, d_context,
                      stored(d_query_key_value, query_key_value_dy), query_key_value_dy);
  query_key_value_.weight_gradient(micro_batch, saved.query_key_value,
                                   activations.input(index(), t), d_query_key_value);
  query_key_value_.data_gradient(micro_batch,
                                 {.dy = d_query_key_value, .accumulate = true, .dx = d_hidden});
}

}  // namespace strata::bert
