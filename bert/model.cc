#include "bert/model.h"

#include "base/error.h"

namespace strata::bert {

using device::Activation;
using device::ConstTensor;
using device::DropoutSite;
using device::Float8Copy;
using device::Tensor;

namespace {

constexpr device::Stream kCompute = device::Stream::kCompute, kCopy = device::Stream::kCopy;

enum Head { kMaskedLm = 0, kNextSentence = 1, kHeads = 2 };

// A tensor as products take it.
ConstTensor operand(const ConstTensor& tensor, const Float8Copy& copy) {
  return copy.codes ? copy.codes : tensor;
}

// An output that nobody but products read.
Tensor unless_copied(const Tensor& output, const Float8Copy& copy) {
  Tensor result = output;
  if (copy.codes) result.data = nullptr;
  return result;
}

}  // namespace

Model::Model(const BertConfig& config, device::Backend& backend, const BatchCapacity& capacity,
             const ModelOptions& options)
    : config_(config),
      options_(options),
      backend_(backend),
      layout_(config),
      slots_{DeviceBatch(backend, capacity, options.rounding),
             DeviceBatch(backend, capacity, options.rounding)} {
  if (options.float8) {
    if (!backend.has_float8()) fail("{}: multiplies nothing in 8 bits", backend.description());
    float8_.emplace(config, backend, options.rounding.rounded(capacity).tokens);
  }
  const BatchCapacity rounded = options.rounding.rounded(capacity);
  const int64_t t = rounded.tokens, m = rounded.masked, b = capacity.sequences;
  const int64_t h = config.hidden_size, i = config.intermediate_size;
  master_ = master_buffer(layout_.size);
  if (backend.compute_dtype() != backend.master_dtype()) compute_ = compute_buffer(layout_.size);
  gradients_ = master_buffer(layout_.size);
  totals_ = device::Buffer(backend, 2 * kHeads * sizeof(device::LossTotals));
  step_values_ = device::Buffer(backend, sizeof(StepValues));

  embedded_ = compute_buffer(t * h);
  embedded_normalized_ = compute_buffer(t * h);
  embedded_inverse_stddev_ = master_buffer(t);
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    layers_.push_back({.query_key_value = compute_buffer(3 * t * h),
                       .context = compute_buffer(t * h),
                       .log_sum_exp = master_buffer(t * config.heads),
                       .attention_normalized = compute_buffer(t * h),
                       .attention_inverse_stddev = master_buffer(t),
                       .attention_out = compute_buffer(t * h),
                       .intermediate_pre = compute_buffer(t * i),
                       .intermediate = compute_buffer(t * i),
                       .normalized = compute_buffer(t * h),
                       .inverse_stddev = master_buffer(t),
                       .out = compute_buffer(t * h)});
  }
  heads_ = {.gathered = compute_buffer(m * h),
            .transform_pre = compute_buffer(m * h),
            .transform = compute_buffer(m * h),
            .normalized = compute_buffer(m * h),
            .inverse_stddev = master_buffer(m),
            .out = compute_buffer(m * h),
            .d_out = compute_buffer(m * h),
            .d_gathered = compute_buffer(m * h),
            .cls = compute_buffer(b * h),
            .pooled_pre = compute_buffer(b * h),
            .pooled = compute_buffer(b * h),
            .d_pooled = compute_buffer(b * h),
            .d_cls = compute_buffer(b * h)};
  d_hidden_ = compute_buffer(t * h);
  d_sublayer_ = compute_buffer(t * h);
  d_residual_ = compute_buffer(t * h);
  d_context_ = compute_buffer(t * h);
  d_intermediate_ = compute_buffer(t * i);
  d_query_key_value_ = compute_buffer(3 * t * h);
}

void Model::set_weights(const HostWeights& weights) {
  if (static_cast<int64_t>(weights.size()) != layout_.size) {
    fail("{} weights were given to a model of {}", weights.size(), layout_.size);
  }
  if (backend_.master_dtype() == device::DType::kF64) {
    const std::vector<double> wide(weights.begin(), weights.end());
    backend_.copy_to_device(kCompute, master_.data(), wide.data(), wide.size() * sizeof(double));
  } else {
    backend_.copy_to_device(kCompute, master_.data(), weights.data(),
                            weights.size() * sizeof(float));
  }
  if (compute_.data()) backend_.convert(kCompute, {master_weights(), 1.0f, compute_weights()});
  if (float8_) float8_->reset();
  backend_.synchronize(kCompute);
}

HostWeights Model::weights() const {
  HostWeights weights(static_cast<size_t>(layout_.size));
  if (backend_.master_dtype() == device::DType::kF64) {
    std::vector<double> wide(weights.size());
    backend_.copy_to_host(kCompute, wide.data(), master_.data(), wide.size() * sizeof(double));
    backend_.synchronize(kCompute);
    weights.assign(wide.begin(), wide.end());
  } else {
    backend_.copy_to_host(kCompute, weights.data(), master_.data(), weights.size() * sizeof(float));
    backend_.synchronize(kCompute);
  }
  return weights;
}

// ---- One training step, top to bottom
// ---------------------------------------------------------------

void Model::train(const data::PackedBatch& batch, const TrainingStep& step,
                  const GradientsFinal& gradients_final) {
  upload(batch);
  begin(step);
  forward();
  backward(gradients_final);
}

void Model::upload(const data::PackedBatch& batch) {
  if (uploaded_) fail("a second batch was uploaded ahead of the first one's forward");
  backend_.wait(kCopy, slot_free_[next_slot_]);
  slots_[next_slot_].upload(kCopy, batch);
  slot_uploaded_[next_slot_] = backend_.record(kCopy);
  uploaded_ = true;
}

// The other slot's batch is done with: everything that reads it has been issued.
const DeviceBatch& Model::take_uploaded() {
  if (!uploaded_) fail("no batch was uploaded for the forward");
  const size_t slot = next_slot_;
  next_slot_ = 1 - slot;
  uploaded_ = false;
  slot_free_[next_slot_] = backend_.record(kCompute);
  backend_.wait(kCompute, slot_uploaded_[slot]);
  return slots_[slot];
}

void Model::begin(const TrainingStep& step) {
  if (step.accumulate && step_ != step.step) {
    fail("a micro-batch of step {} adds to gradients of another step", step.step);
  }
  batch_ = &take_uploaded();
  step_ = step.step;
  accumulate_ = step.accumulate;
  const StepValues values{.dropout_key = device::dropout_step_key(step.seed, step.step),
                          .masked_lm_scale = step.masked_lm_scale,
                          .next_sentence_scale = step.next_sentence_scale};
  backend_.store(kCompute, step_values_.data(), &values, sizeof values);
  if (float8_) float8_->begin(step.step);
}

Model::Shape Model::shape() const {
  const BatchShape batch = batch_->shape();
  return {batch_ - slots_.data(), batch.tokens,     batch.samples,
          batch.masked,           batch.max_length, float8_ && float8_->rounds() ? 1 : 0,
          accumulate_ ? 1 : 0};
}

void Model::forward() { run_forward(true); }

void Model::evaluate(const DeviceBatch& batch) {
  batch_ = &batch;
  run_forward(false);
}

void Model::evaluate(const data::PackedBatch& batch) {
  upload(batch);
  evaluate(take_uploaded());
}

void Model::run_forward(bool training) {
  embeddings_forward(training);
  for (size_t layer = 0; layer < layers_.size(); ++layer) layer_forward(layer, training);
  masked_lm_head(training);
  next_sentence_head(training);
}

void Model::backward(const GradientsFinal& gradients_final) {
  size_t group = 0;
  const auto report = [&] {
    if (gradients_final) gradients_final(layout_.boundaries[group], layout_.boundaries[group + 1]);
    ++group;
  };
  heads_backward();
  report();
  for (size_t layer = layers_.size(); layer-- > 0;) {
    layer_backward(layer);
    report();
  }
  embeddings_backward();
  report();
}

// ---- Forward
// ----------------------------------------------------------------------------------------

void Model::embeddings_forward(bool training) {
  const int64_t t = batch_->sequences.tokens, h = config_.hidden_size;
  backend_.embeddings_forward(
      kCompute, {.token_ids = batch_->tokens,
                 .segment_ids = batch_->segments,
                 .positions = batch_->positions,
                 .sequences = batch_->sequences,
                 .word = weight(layout_.word_embeddings),
                 .position = weight(layout_.position_embeddings),
                 .segment = weight(layout_.segment_embeddings),
                 .gamma = weight(layout_.embeddings_norm.gamma),
                 .beta = weight(layout_.embeddings_norm.beta),
                 .epsilon = config_.layer_norm_epsilon,
                 .dropout = dropout(config_.hidden_dropout, 0, DropoutSite::kEmbeddings, training),
                 .normalized = activation(embedded_normalized_, t, h),
                 .inverse_stddev = statistics(embedded_inverse_stddev_, 1, t),
                 .y = activation(embedded_, t, h),
                 .y_float8 = input_copy(0, training)});
}

void Model::layer_forward(size_t layer, bool training) {
  const int64_t t = batch_->sequences.tokens, h = config_.hidden_size,
                i = config_.intermediate_size;
  const LayerPlace& place = layout_.layers[layer];
  const LayerActivations& a = layers_[layer];
  const Tensor x = activation(layer_input(layer), t, h);
  const Tensor context = activation(a.context, t, h);
  const Tensor attention_out = activation(a.attention_out, t, h);
  const Tensor intermediate = activation(a.intermediate, t, i);
  // A sublayer's output lives only until the LayerNorm that follows it.
  const Tensor sublayer = activation(d_sublayer_, t, h);
  const Float8Encoder::Layer float8 = float8_of(layer, training);

  backend_.linear_forward(kCompute,
                          {.x = operand(x, float8.query_key_value.x),
                           .weight = weight_operand(place.query_key_value.weight,
                                                    float8.query_key_value.weight, training),
                           .bias = weight(place.query_key_value.bias),
                           .y = activation(a.query_key_value, t, 3 * h)});
  backend_.attention_forward(
      kCompute,
      {.qkv = activation(a.query_key_value, t, 3 * h),
       .sequences = batch_->sequences,
       .heads = static_cast<int32_t>(config_.heads),
       .dropout = dropout(config_.attention_dropout, layer, DropoutSite::kAttention, training),
       .context = context,
       .context_float8 = float8.attention_output.x,
       .log_sum_exp = statistics(a.log_sum_exp, t, config_.heads)});
  backend_.linear_forward(kCompute,
                          {.x = operand(context, float8.attention_output.x),
                           .weight = weight_operand(place.attention_output.weight,
                                                    float8.attention_output.weight, training),
                           .bias = weight(place.attention_output.bias),
                           .y = sublayer});
  backend_.residual_layernorm_forward(
      kCompute,
      {.x = sublayer,
       .residual = x,
       .gamma = weight(place.attention_norm.gamma),
       .beta = weight(place.attention_norm.beta),
       .epsilon = config_.layer_norm_epsilon,
       .dropout = dropout(config_.hidden_dropout, layer, DropoutSite::kAttentionOutput, training),
       .sequences = batch_->sequences,
       .normalized = activation(a.attention_normalized, t, h),
       .inverse_stddev = statistics(a.attention_inverse_stddev, 1, t),
       .y = attention_out,
       .y_float8 = float8.intermediate.x});
  backend_.linear_forward(kCompute, {.x = operand(attention_out, float8.intermediate.x),
                                     .weight = weight_operand(place.intermediate.weight,
                                                              float8.intermediate.weight, training),
                                     .bias = weight(place.intermediate.bias),
                                     .activation = config_.activation,
                                     .pre_activation = activation(a.intermediate_pre, t, i),
                                     .y = unless_copied(intermediate, float8.output.x),
                                     .y_float8 = float8.output.x});
  backend_.linear_forward(
      kCompute, {.x = operand(intermediate, float8.output.x),
                 .weight = weight_operand(place.output.weight, float8.output.weight, training),
                 .bias = weight(place.output.bias),
                 .y = sublayer});
  backend_.residual_layernorm_forward(
      kCompute, {.x = sublayer,
                 .residual = attention_out,
                 .gamma = weight(place.output_norm.gamma),
                 .beta = weight(place.output_norm.beta),
                 .epsilon = config_.layer_norm_epsilon,
                 .dropout = dropout(config_.hidden_dropout, layer, DropoutSite::kOutput, training),
                 .sequences = batch_->sequences,
                 .normalized = activation(a.normalized, t, h),
                 .inverse_stddev = statistics(a.inverse_stddev, 1, t),
                 .y = activation(a.out, t, h),
                 .y_float8 = input_copy(layer + 1, training)});
}

// The loss operations compute their gradients at once, so that probabilities are never stored.
void Model::masked_lm_head(bool training) {
  const int64_t t = batch_->sequences.tokens, m = batch_->masked, h = config_.hidden_size;
  if (m == 0) return;
  const Tensor gathered = activation(heads_.gathered, m, h);
  const Tensor transform = activation(heads_.transform, m, h);
  backend_.gather_rows(
      kCompute,
      {.x = activation(layers_.back().out, t, h), .rows = batch_->masked_positions, .y = gathered});
  backend_.linear_forward(kCompute, {.x = gathered,
                                     .weight = weight(layout_.transform.weight),
                                     .bias = weight(layout_.transform.bias),
                                     .activation = config_.activation,
                                     .pre_activation = activation(heads_.transform_pre, m, h),
                                     .y = transform});
  backend_.residual_layernorm_forward(kCompute,
                                      {.x = transform,
                                       .gamma = weight(layout_.transform_norm.gamma),
                                       .beta = weight(layout_.transform_norm.beta),
                                       .epsilon = config_.layer_norm_epsilon,
                                       .normalized = activation(heads_.normalized, m, h),
                                       .inverse_stddev = statistics(heads_.inverse_stddev, 1, m),
                                       .y = activation(heads_.out, m, h)});
  backend_.classifier_loss(kCompute,
                           {.x = activation(heads_.out, m, h),
                            .weight = weight(layout_.word_embeddings),
                            .bias = weight(layout_.masked_lm_bias),
                            .labels = batch_->masked_ids,
                            .gradient_scale = device::value_at(&step_values()->masked_lm_scale),
                            .d_x = training ? activation(heads_.d_out, m, h) : Tensor{},
                            .accumulate = accumulate_,
                            .d_weight = training ? gradient(layout_.word_embeddings) : Tensor{},
                            .d_bias = training ? gradient(layout_.masked_lm_bias) : Tensor{},
                            .totals = totals(training ? kTraining : kEvaluation) + kMaskedLm});
}

void Model::next_sentence_head(bool training) {
  const int64_t t = batch_->sequences.tokens, b = batch_->samples, h = config_.hidden_size;
  const Tensor cls = activation(heads_.cls, b, h);
  // [CLS] is every sequence's first token.
  backend_.gather_rows(
      kCompute,
      {.x = activation(layers_.back().out, t, h), .rows = batch_->sequences.cu_seqlens, .y = cls});
  backend_.linear_forward(kCompute, {.x = cls,
                                     .weight = weight(layout_.pooler.weight),
                                     .bias = weight(layout_.pooler.bias),
                                     .activation = Activation::kTanh,
                                     .pre_activation = activation(heads_.pooled_pre, b, h),
                                     .y = activation(heads_.pooled, b, h)});
  backend_.classifier_loss(
      kCompute, {.x = activation(heads_.pooled, b, h),
                 .weight = weight(layout_.next_sentence.weight),
                 .bias = weight(layout_.next_sentence.bias),
                 .labels = batch_->next_sentence,
                 .gradient_scale = device::value_at(&step_values()->next_sentence_scale),
                 .d_x = training ? activation(heads_.d_pooled, b, h) : Tensor{},
                 .accumulate = accumulate_,
                 .d_weight = training ? gradient(layout_.next_sentence.weight) : Tensor{},
                 .d_bias = training ? gradient(layout_.next_sentence.bias) : Tensor{},
                 .totals = totals(training ? kTraining : kEvaluation) + kNextSentence});
}

// ---- Backward
// ---------------------------------------------------------------------------------------

void Model::heads_backward() {
  const int64_t t = batch_->sequences.tokens, m = batch_->masked, b = batch_->samples;
  const int64_t h = config_.hidden_size;
  const Tensor d_hidden = activation(d_hidden_, t, h);
  backend_.fill_zero(kCompute, d_hidden.data, d_hidden.bytes());

  if (m > 0) {
    // In turn the gradient of LayerNorm's input, of the activation's, and of the gathered rows.
    const Tensor d_transform = activation(heads_.d_out, m, h);
    const Tensor d_gathered = activation(heads_.d_gathered, m, h);
    backend_.residual_layernorm_backward(kCompute,
                                         {.dy = d_transform,
                                          .normalized = activation(heads_.normalized, m, h),
                                          .inverse_stddev = statistics(heads_.inverse_stddev, 1, m),
                                          .gamma = weight(layout_.transform_norm.gamma),
                                          .d_x = d_gathered,
                                          .accumulate = accumulate_,
                                          .d_gamma = gradient(layout_.transform_norm.gamma),
                                          .d_beta = gradient(layout_.transform_norm.beta)});
    backend_.activation_backward(kCompute,
                                 {.activation = config_.activation,
                                  .dy = d_gathered,
                                  .pre_activation = activation(heads_.transform_pre, m, h),
                                  .dx = d_transform});
    backend_.linear_weight_gradient(kCompute, {.x = activation(heads_.gathered, m, h),
                                               .dy = d_transform,
                                               .accumulate = accumulate_,
                                               .d_weight = gradient(layout_.transform.weight),
                                               .d_bias = gradient(layout_.transform.bias)});
    backend_.linear_data_gradient(
        kCompute,
        {.dy = d_transform, .weight = weight(layout_.transform.weight), .dx = d_gathered});
    backend_.scatter_add_rows(kCompute,
                              {.dy = d_gathered, .rows = batch_->masked_positions, .dx = d_hidden});
  } else if (!accumulate_) {
    clear_masked_lm_gradients();
  }

  const Tensor d_pooled = activation(heads_.d_pooled, b, h);
  const Tensor d_cls = activation(heads_.d_cls, b, h);
  backend_.activation_backward(kCompute, {.activation = Activation::kTanh,
                                          .dy = d_pooled,
                                          .pre_activation = activation(heads_.pooled_pre, b, h),
                                          .dx = d_pooled});
  backend_.linear_weight_gradient(kCompute, {.x = activation(heads_.cls, b, h),
                                             .dy = d_pooled,
                                             .accumulate = accumulate_,
                                             .d_weight = gradient(layout_.pooler.weight),
                                             .d_bias = gradient(layout_.pooler.bias)});
  backend_.linear_data_gradient(
      kCompute, {.dy = d_pooled, .weight = weight(layout_.pooler.weight), .dx = d_cls});
  backend_.scatter_add_rows(kCompute,
                            {.dy = d_cls, .rows = batch_->sequences.cu_seqlens, .dx = d_hidden});
}

void Model::clear_masked_lm_gradients() {
  for (const Parameter* p :
       {&layout_.transform.weight, &layout_.transform.bias, &layout_.transform_norm.gamma,
        &layout_.transform_norm.beta, &layout_.masked_lm_bias, &layout_.word_embeddings}) {
    clear_gradient(*p);
  }
}

void Model::layer_backward(size_t layer) {
  const int64_t t = batch_->sequences.tokens, h = config_.hidden_size,
                i = config_.intermediate_size;
  const LayerPlace& place = layout_.layers[layer];
  const LayerActivations& a = layers_[layer];
  const Tensor d_hidden = activation(d_hidden_, t, h);  // of this layer's output, then of its input
  const Tensor d_sublayer =
      activation(d_sublayer_, t, h);  // of what a LayerNorm's dropout was given
  const Tensor d_residual = activation(d_residual_, t, h);  // of attention_out
  const Tensor d_intermediate = activation(d_intermediate_, t, i);
  const Tensor d_context = activation(d_context_, t, h);
  const Tensor d_query_key_value = activation(d_query_key_value_, t, 3 * h);
  const Tensor attention_out = activation(a.attention_out, t, h);
  const Float8Encoder::Layer float8 = float8_of(layer, true);

  backend_.residual_layernorm_backward(
      kCompute, {.dy = d_hidden,
                 .normalized = activation(a.normalized, t, h),
                 .inverse_stddev = statistics(a.inverse_stddev, 1, t),
                 .gamma = weight(place.output_norm.gamma),
                 .dropout = dropout(config_.hidden_dropout, layer, DropoutSite::kOutput, true),
                 .sequences = batch_->sequences,
                 .d_x = unless_copied(d_sublayer, float8.output.dy),
                 .d_x_float8 = float8.output.dy,
                 .d_residual = d_residual,
                 .accumulate = accumulate_,
                 .d_gamma = gradient(place.output_norm.gamma),
                 .d_beta = gradient(place.output_norm.beta)});
  backend_.linear_weight_gradient(kCompute,
                                  {.x = operand(activation(a.intermediate, t, i), float8.output.x),
                                   .dy = operand(d_sublayer, float8.output.dy),
                                   .accumulate = accumulate_,
                                   .d_weight = gradient(place.output.weight),
                                   .d_bias = gradient(place.output.bias)});
  backend_.linear_data_gradient(
      kCompute, {.dy = operand(d_sublayer, float8.output.dy),
                 .weight = operand(weight(place.output.weight), float8.output.weight),
                 .activation = config_.activation,
                 .pre_activation = activation(a.intermediate_pre, t, i),
                 .dx = unless_copied(d_intermediate, float8.intermediate.dy),
                 .dx_float8 = float8.intermediate.dy});
  backend_.linear_weight_gradient(kCompute, {.x = operand(attention_out, float8.intermediate.x),
                                             .dy = operand(d_intermediate, float8.intermediate.dy),
                                             .accumulate = accumulate_,
                                             .d_weight = gradient(place.intermediate.weight),
                                             .d_bias = gradient(place.intermediate.bias)});
  backend_.linear_data_gradient(
      kCompute, {.dy = operand(d_intermediate, float8.intermediate.dy),
                 .weight = operand(weight(place.intermediate.weight), float8.intermediate.weight),
                 .accumulate = true,
                 .dx = d_residual});
  backend_.residual_layernorm_backward(
      kCompute,
      {.dy = d_residual,
       .normalized = activation(a.attention_normalized, t, h),
       .inverse_stddev = statistics(a.attention_inverse_stddev, 1, t),
       .gamma = weight(place.attention_norm.gamma),
       .dropout = dropout(config_.hidden_dropout, layer, DropoutSite::kAttentionOutput, true),
       .sequences = batch_->sequences,
       .d_x = unless_copied(d_sublayer, float8.attention_output.dy),
       .d_x_float8 = float8.attention_output.dy,
       .d_residual = d_hidden,
       .accumulate = accumulate_,
       .d_gamma = gradient(place.attention_norm.gamma),
       .d_beta = gradient(place.attention_norm.beta)});
  backend_.linear_weight_gradient(
      kCompute, {.x = operand(activation(a.context, t, h), float8.attention_output.x),
                 .dy = operand(d_sublayer, float8.attention_output.dy),
                 .accumulate = accumulate_,
                 .d_weight = gradient(place.attention_output.weight),
                 .d_bias = gradient(place.attention_output.bias)});
  backend_.linear_data_gradient(kCompute, {.dy = operand(d_sublayer, float8.attention_output.dy),
                                           .weight = operand(weight(place.attention_output.weight),
                                                             float8.attention_output.weight),
                                           .dx = d_context});
  backend_.attention_backward(
      kCompute,
      {.qkv = activation(a.query_key_value, t, 3 * h),
       .context = activation(a.context, t, h),
       .d_context = d_context,
       .log_sum_exp = statistics(a.log_sum_exp, t, config_.heads),
       .sequences = batch_->sequences,
       .heads = static_cast<int32_t>(config_.heads),
       .dropout = dropout(config_.attention_dropout, layer, DropoutSite::kAttention, true),
       .d_qkv = unless_copied(d_query_key_value, float8.query_key_value.dy),
       .d_qkv_float8 = float8.query_key_value.dy});
  backend_.linear_weight_gradient(
      kCompute, {.x = operand(activation(layer_input(layer), t, h), float8.query_key_value.x),
                 .dy = operand(d_query_key_value, float8.query_key_value.dy),
                 .accumulate = accumulate_,
                 .d_weight = gradient(place.query_key_value.weight),
                 .d_bias = gradient(place.query_key_value.bias)});
  backend_.linear_data_gradient(
      kCompute,
      {.dy = operand(d_query_key_value, float8.query_key_value.dy),
       .weight = operand(weight(place.query_key_value.weight), float8.query_key_value.weight),
       .accumulate = true,
       .dx = d_hidden});
}

void Model::embeddings_backward() {
  const int64_t t = batch_->sequences.tokens, h = config_.hidden_size;
  // The masked-LM loss has written the gradient of the words.
  if (!accumulate_) {
    clear_gradient(layout_.position_embeddings);
    clear_gradient(layout_.segment_embeddings);
  }
  backend_.embeddings_backward(
      kCompute, {.token_ids = batch_->tokens,
                 .segment_ids = batch_->segments,
                 .positions = batch_->positions,
                 .sequences = batch_->sequences,
                 .dy = activation(d_hidden_, t, h),
                 .normalized = activation(embedded_normalized_, t, h),
                 .inverse_stddev = statistics(embedded_inverse_stddev_, 1, t),
                 .gamma = weight(layout_.embeddings_norm.gamma),
                 .dropout = dropout(config_.hidden_dropout, 0, DropoutSite::kEmbeddings, true),
                 .d_word = gradient(layout_.word_embeddings),
                 .d_position = gradient(layout_.position_embeddings),
                 .d_segment = gradient(layout_.segment_embeddings),
                 .accumulate = accumulate_,
                 .d_gamma = gradient(layout_.embeddings_norm.gamma),
                 .d_beta = gradient(layout_.embeddings_norm.beta)});
}

// ---- Small things
// -----------------------------------------------------------------------------------

Losses Model::take(LossKind kind) {
  device::LossTotals sums[kHeads];
  backend_.copy_to_host(kCompute, sums, totals(kind), sizeof sums);
  backend_.synchronize(kCompute);
  backend_.fill_zero(kCompute, totals(kind), sizeof sums);
  return {sums[kMaskedLm], sums[kNextSentence]};
}

device::LossTotals* Model::totals(LossKind kind) const {
  return totals_.as<device::LossTotals>() + static_cast<int>(kHeads) * static_cast<int>(kind);
}

Tensor Model::master_weights() const {
  return {master_.data(), backend_.master_dtype(), 1, layout_.size};
}

Tensor Model::compute_weights() const {
  return {compute_.data() ? compute_.data() : master_.data(), backend_.compute_dtype(), 1,
          layout_.size};
}

Tensor Model::gradients() const {
  return {gradients_.data(), backend_.master_dtype(), 1, layout_.size};
}

ConstTensor Model::weight(const Parameter& p) const {
  const Tensor all = compute_weights();
  return {all.as<char>() + static_cast<size_t>(p.offset) * size_of(all.dtype), all.dtype, p.rows,
          p.cols};
}

Tensor Model::gradient(const Parameter& p) const {
  const Tensor all = gradients();
  return {all.as<char>() + static_cast<size_t>(p.offset) * size_of(all.dtype), all.dtype, p.rows,
          p.cols};
}

void Model::clear_gradient(const Parameter& p) {
  const Tensor cleared = gradient(p);
  backend_.fill_zero(kCompute, cleared.data, cleared.bytes());
}

Tensor Model::activation(const device::Buffer& buffer, int64_t rows, int64_t cols) const {
  return {buffer.data(), backend_.compute_dtype(), rows, cols};
}

Tensor Model::statistics(const device::Buffer& buffer, int64_t rows, int64_t cols) const {
  return {buffer.data(), backend_.master_dtype(), rows, cols};
}

device::Buffer Model::compute_buffer(int64_t elements) const {
  return {backend_, static_cast<size_t>(elements) * size_of(backend_.compute_dtype())};
}

device::Buffer Model::master_buffer(int64_t elements) const {
  return {backend_, static_cast<size_t>(elements) * size_of(backend_.master_dtype())};
}

device::Dropout Model::dropout(float probability, size_t layer, DropoutSite site,
                               bool training) const {
  if (!training || probability == 0.0f) return {};
  return {probability, device::value_at(&step_values()->dropout_key),
          device::dropout_place(static_cast<uint32_t>(layer), site)};
}

Float8Encoder::Layer Model::float8_of(size_t layer, bool training) const {
  if (!float8_) return {};
  return float8_->layer(layer, batch_->sequences.tokens, training);
}

Float8Copy Model::input_copy(size_t layer, bool training) const {
  if (layer == layers_.size()) return {};
  return float8_of(layer, training).query_key_value.x;
}

ConstTensor Model::weight_operand(const Parameter& p, const Float8Copy& copy, bool training) {
  const bool rounded = training && accumulate_;
  if (copy && !rounded) backend_.round_to_float8(kCompute, {weight(p), copy});
  return operand(weight(p), copy);
}

const device::Buffer& Model::layer_input(size_t layer) const {
  return layer == 0 ? embedded_ : layers_[layer - 1].out;
}

}  // namespace strata::bert
