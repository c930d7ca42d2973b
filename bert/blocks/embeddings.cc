#include "bert/blocks/embeddings.h"

#include "bert/blocks/standardizer.h"

namespace strata::bert {

Embeddings::Embeddings(const BlockContext& context, const ParameterLayout& layout, int index,
                       WordGradient word_gradient)
    : Block(context, "embeddings", index, layout.group("embeddings")),
      layout_(layout),
      word_gradient_(word_gradient) {
  if (word_gradient == WordGradient::kTogether) return;
  input_words_ = context.statistics_buffer(layout.word_embeddings.size());
  context.backend.fill_zero(kCompute, input_words_.data(), input_words_.bytes());
  if (word_gradient == WordGradient::kSplit) {
    sum_.emplace(context.backend, layout.word_embeddings.size());
  }
}

std::unique_ptr<BlockActivations> Embeddings::make_activations() const {
  const int64_t t = context_.capacity.tokens;
  auto saved = std::make_unique<Saved>();
  saved->normalized = context_.activation_buffer(t * context_.config.hidden_size);
  if (context_.normalizes()) saved->inverse_stddev = context_.statistics_buffer(t);
  return saved;
}

device::Dropout Embeddings::dropout(const MicroBatch& micro_batch) const {
  return micro_batch.dropout(context_.config.hidden_dropout, 0, device::DropoutSite::kEmbeddings);
}

device::Tensor Embeddings::inverse_stddev(const Saved& saved, int64_t tokens) const {
  if (!context_.normalizes()) return {};
  return context_.statistics(saved.inverse_stddev, 1, tokens);
}

void Embeddings::forward(const MicroBatch& micro_batch, const Activations& activations) {
  const int64_t t = micro_batch.tokens(), h = context_.config.hidden_size;
  const ParameterStore& parameters = context_.parameters;
  const DeviceBatch& batch = *micro_batch.batch;
  const auto& saved = activations.of<Saved>(index());
  context_.backend.embeddings_forward(kCompute,
                                      {.token_ids = batch.tokens,
                                       .segment_ids = batch.segments,
                                       .positions = batch.positions,
                                       .sequences = batch.sequences,
                                       .word = parameters.weight(layout_.word_embeddings),
                                       .position = parameters.weight(layout_.position_embeddings),
                                       .segment = parameters.weight(layout_.token_type_embeddings),
                                       .gamma = parameters.weight(layout_.embeddings_norm.gamma),
                                       .beta = parameters.weight(layout_.embeddings_norm.beta),
                                       .normalize = context_.normalizes(),
                                       .epsilon = context_.config.layer_norm_epsilon,
                                       .dropout = dropout(micro_batch),
                                       .normalized = context_.activation(saved.normalized, t, h),
                                       .inverse_stddev = inverse_stddev(saved, t),
                                       .y = activations.output(index(), t),
                                       .y_float8 = output_copy(micro_batch, activations)});
}

void Embeddings::backward(const MicroBatch& micro_batch, const Activations& activations) {
  const int64_t t = micro_batch.tokens(), h = context_.config.hidden_size;
  ParameterStore& parameters = context_.parameters;
  const DeviceBatch& batch = *micro_batch.batch;
  const auto& saved = activations.of<Saved>(index());
  // The word gradient is not cleared: the masked-LM head has already written its part.
  if (!micro_batch.accumulate) {
    parameters.clear_gradient(layout_.position_embeddings);
    parameters.clear_gradient(layout_.token_type_embeddings);
  }
  const device::Tensor normalized = context_.activation(saved.normalized, t, h);
  device::StandardizationGradient standardization;
  if (Standardizer* standardizer = context_.standardizer) {
    standardization = standardizer->gradient(micro_batch, RowsOf::kTokens, normalized);
  }
  context_.backend.embeddings_backward(
      kCompute,
      {.token_ids = batch.tokens,
       .segment_ids = batch.segments,
       .positions = batch.positions,
       .sequences = batch.sequences,
       .dy = activations.gradient(t),
       .normalized = normalized,
       .inverse_stddev = inverse_stddev(saved, t),
       .gamma = parameters.weight(layout_.embeddings_norm.gamma),
       .normalize = context_.normalizes(),
       .standardization = standardization,
       .dropout = dropout(micro_batch),
       .d_word = input_words() ? input_words() : parameters.gradient(layout_.word_embeddings),
       .d_position = parameters.gradient(layout_.position_embeddings),
       .d_segment = parameters.gradient(layout_.token_type_embeddings),
       .accumulate = micro_batch.accumulate,
       .d_gamma = parameters.gradient(layout_.embeddings_norm.gamma),
       .d_beta = parameters.gradient(layout_.embeddings_norm.beta)});
}

void Embeddings::complete() {
  if (!sum_) return;
  sum_->add(kCompute, input_words(), context_.parameters.gradient(layout_.word_embeddings));
  context_.backend.fill_zero(kCompute, input_words_.data(), input_words_.bytes());
}

device::Tensor Embeddings::input_words() const {
  if (word_gradient_ == WordGradient::kTogether) return {};
  const Parameter& words = layout_.word_embeddings;
  return context_.statistics(input_words_, words.rows, words.cols);
}

}  // namespace strata::bert
