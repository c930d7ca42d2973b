#include "bert/blocks/residual_norm.h"

namespace strata::bert {

using device::Tensor;

ResidualNorm::Saved ResidualNorm::make_saved() const {
  const BatchCapacity& most = context_.capacity;
  const int64_t rows = rows_ == RowsOf::kTokens ? most.tokens : most.masked;
  Saved saved{.normalized = context_.activation_buffer(rows * context_.config.hidden_size)};
  if (context_.normalizes()) saved.inverse_stddev = context_.statistics_buffer(rows);
  return saved;
}

Tensor ResidualNorm::normalized(const Saved& saved, int64_t rows) const {
  return context_.activation(saved.normalized, rows, context_.config.hidden_size);
}

Tensor ResidualNorm::inverse_stddev(const Saved& saved, int64_t rows) const {
  if (!context_.normalizes()) return {};
  return context_.statistics(saved.inverse_stddev, 1, rows);
}

device::Dropout ResidualNorm::dropout(const MicroBatch& micro_batch) const {
  return micro_batch.dropout(dropout_.probability, dropout_.layer, dropout_.site);
}

void ResidualNorm::forward(const MicroBatch& micro_batch, const Saved& saved,
                           device::ResidualLayerNormForward op) const {
  op.gamma = context_.parameters.weight(place_.gamma);
  op.beta = context_.parameters.weight(place_.beta);
  op.normalize = context_.normalizes();
  op.epsilon = context_.config.layer_norm_epsilon;
  op.dropout = dropout(micro_batch);
  if (dropout_.probability > 0) op.sequences = micro_batch.batch->sequences;
  op.normalized = normalized(saved, op.y.rows);
  op.inverse_stddev = inverse_stddev(saved, op.y.rows);
  context_.backend.residual_layernorm_forward(kCompute, op);
}

void ResidualNorm::backward(const MicroBatch& micro_batch, const Saved& saved,
                            device::ResidualLayerNormBackward op) const {
  op.normalized = normalized(saved, op.dy.rows);
  op.inverse_stddev = inverse_stddev(saved, op.dy.rows);
  op.gamma = context_.parameters.weight(place_.gamma);
  op.normalize = context_.normalizes();
  if (Standardizer* standardizer = context_.standardizer) {
    op.standardization = standardizer->gradient(micro_batch, rows_, op.normalized);
  }
  op.dropout = dropout(micro_batch);
  if (dropout_.probability > 0) op.sequences = micro_batch.batch->sequences;
  op.accumulate = micro_batch.accumulate;
  op.d_gamma = context_.parameters.gradient(place_.gamma);
  op.d_beta = context_.parameters.gradient(place_.beta);
  context_.backend.residual_layernorm_backward(kCompute, op);
}

}  // namespace strata::bert
