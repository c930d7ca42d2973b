#include "bert/blocks/attention.h"

namespace strata::bert {

using device::Tensor;

Attention::Saved Attention::make_saved() const {
  const int64_t t = context_.capacity.tokens, h = context_.config.hidden_size;
  return {.query_key_value = context_.activation_buffer(3 * t * h),
          .context = context_.activation_buffer(t * h),
          .log_sum_exp = context_.statistics_buffer(t * context_.config.heads)};
}

Tensor Attention::query_key_value(const MicroBatch& micro_batch, const Saved& saved) const {
  return context_.activation(saved.query_key_value, micro_batch.tokens(),
                             3 * context_.config.hidden_size);
}

Tensor Attention::context(const MicroBatch& micro_batch, const Saved& saved) const {
  return context_.activation(saved.context, micro_batch.tokens(), context_.config.hidden_size);
}

Tensor Attention::log_sum_exp(const MicroBatch& micro_batch, const Saved& saved) const {
  return context_.statistics(saved.log_sum_exp, micro_batch.tokens(), context_.config.heads);
}

device::Dropout Attention::dropout(const MicroBatch& micro_batch) const {
  return micro_batch.dropout(context_.config.attention_dropout, layer_,
                             device::DropoutSite::kAttention);
}

void Attention::forward(const MicroBatch& micro_batch, const Saved& saved,
                        const device::Float8Copy& copy) const {
  context_.backend.attention_forward(kCompute,
                                     {.qkv = query_key_value(micro_batch, saved),
                                      .sequences = micro_batch.batch->sequences,
                                      .heads = static_cast<int32_t>(context_.config.heads),
                                      .dropout = dropout(micro_batch),
                                      .context = context(micro_batch, saved),
                                      .context_float8 = copy,
                                      .log_sum_exp = log_sum_exp(micro_batch, saved)});
}

void Attention::backward(const MicroBatch& micro_batch, const Saved& saved,
                         device::ConstTensor d_context, Tensor d_query_key_value,
                         const device::Float8Copy& copy) const {
  context_.backend.attention_backward(kCompute,
                                      {.qkv = query_key_value(micro_batch, saved),
                                       .context = context(micro_batch, saved),
                                       .d_context = d_context,
                                       .log_sum_exp = log_sum_exp(micro_batch, saved),
                                       .sequences = micro_batch.batch->sequences,
                                       .heads = static_cast<int32_t>(context_.config.heads),
                                       .dropout = dropout(micro_batch),
                                       .d_qkv = d_query_key_value,
                                       .d_qkv_float8 = copy});
}

}  // namespace strata::bert
