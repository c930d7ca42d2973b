#include "bert/blocks/attention.h"

namespace strata::bert {

using device::Tensor;

Attention::Saved Attention::make_saved() const {
  device::Backend& backend = context_.backend;
  const int64_t t = context_.capacity.tokens, h = context_.config.hidden_size;
  const auto buffer = [&](int64_t elements, device::DType dtype) {
    return device::Buffer(backend, static_cast<size_t>(elements) * size_of(dtype));
  };
  return {.query_key_value = buffer(3 * t * h, backend.compute_dtype()),
          .context = buffer(t * h, backend.compute_dtype()),
          .log_sum_exp = buffer(t * context_.config.heads, backend.master_dtype())};
}

Tensor Attention::query_key_value(const MicroBatch& micro_batch, const Saved& saved) const {
  return {saved.query_key_value.data(), context_.backend.compute_dtype(), micro_batch.tokens(),
          3 * context_.config.hidden_size};
}

Tensor Attention::context(const MicroBatch& micro_batch, const Saved& saved) const {
  return {saved.context.data(), context_.backend.compute_dtype(), micro_batch.tokens(),
          context_.config.hidden_size};
}

Tensor Attention::log_sum_exp(const MicroBatch& micro_batch, const Saved& saved) const {
  return {saved.log_sum_exp.data(), context_.backend.master_dtype(), micro_batch.tokens(),
          context_.config.heads};
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
