#include "bert/blocks/heads/next_sentence_head.h"

namespace strata::bert {

using device::Activation;
using device::Tensor;

NextSentenceHead::NextSentenceHead(const BlockContext& context, const ParameterLayout& layout)
    : context_(context), layout_(layout), pooler_(context, layout.pooler) {}

NextSentenceHead::Saved NextSentenceHead::make_saved() const {
  const auto buffer = [&] {
    return context_.activation_buffer(context_.capacity.sequences * context_.config.hidden_size);
  };
  return {.cls = buffer(),
          .pooled_pre = buffer(),
          .pooled = buffer(),
          .d_pooled = buffer(),
          .d_cls = buffer()};
}

Tensor NextSentenceHead::rows(const device::Buffer& buffer, const MicroBatch& micro_batch) const {
  return context_.activation(buffer, micro_batch.batch->samples, context_.config.hidden_size);
}

void NextSentenceHead::forward(const MicroBatch& micro_batch, const Saved& saved,
                               device::ConstTensor hidden, device::LossTotals* totals) const {
  const DeviceBatch& batch = *micro_batch.batch;
  ParameterStore& parameters = context_.parameters;
  const bool training = micro_batch.training;
  const Tensor cls = rows(saved.cls, micro_batch), pooled = rows(saved.pooled, micro_batch);
  context_.backend.gather_rows(kCompute,
                               {.x = hidden, .rows = batch.sequences.cu_seqlens, .y = cls});
  pooler_.forward(micro_batch, {},
                  {.x = cls,
                   .activation = Activation::kTanh,
                   .pre_activation = rows(saved.pooled_pre, micro_batch),
                   .y = pooled});
  context_.backend.classifier_loss(
      kCompute,
      {.x = pooled,
       .weight = parameters.weight(layout_.next_sentence.weight),
       .bias = parameters.weight(layout_.next_sentence.bias),
       .labels = batch.next_sentence,
       .gradient_scale = device::value_at(&micro_batch.step->next_sentence_scale),
       .d_x = training ? rows(saved.d_pooled, micro_batch) : Tensor{},
       .accumulate = micro_batch.accumulate,
       .d_weight = training ? parameters.gradient(layout_.next_sentence.weight) : Tensor{},
       .d_bias = training ? parameters.gradient(layout_.next_sentence.bias) : Tensor{},
       .totals = totals});
}

void NextSentenceHead::backward(const MicroBatch& micro_batch, const Saved& saved,
                                Tensor d_hidden) const {
  const Tensor d_pooled = rows(saved.d_pooled, micro_batch), d_cls = rows(saved.d_cls, micro_batch);
  context_.backend.activation_backward(kCompute,
                                       {.activation = Activation::kTanh,
                                        .dy = d_pooled,
                                        .pre_activation = rows(saved.pooled_pre, micro_batch),
                                        .dx = d_pooled});
  pooler_.weight_gradient(micro_batch, {}, rows(saved.cls, micro_batch), d_pooled);
  pooler_.data_gradient(micro_batch, {.dy = d_pooled, .dx = d_cls});
  context_.backend.scatter_add_rows(
      kCompute, {.dy = d_cls, .rows = micro_batch.batch->sequences.cu_seqlens, .dx = d_hidden});
}

}  // namespace strata::bert
