// The last block: both heads with their losses, and with pre-LN the final LayerNorm.
#pragma once

#include "bert/blocks/heads/masked_lm_head.h"
#include "bert/blocks/heads/next_sentence_head.h"
#include "bert/blocks/residual_norm.h"
#include "bert/losses.h"

namespace strata::bert {

class Heads final : public Block {
 public:
  // Keeps separate losses for training and evaluation.
  Heads(const BlockContext& context, const ParameterLayout& layout, int index);

  std::unique_ptr<BlockActivations> make_activations() const override;
  // Computes the losses. In training it also computes the gradients of both classifiers: of their
  // inputs, weights and biases. The masked-LM classifier's weights are the word embeddings, so that
  // gradient lies in the embeddings' range of the arena. It is overwritten there, or added to if
  // MicroBatch::accumulate is set, so forwards must run in the order of micro-batches.
  void forward(const MicroBatch& micro_batch, const Activations& activations) override;
  void backward(const MicroBatch& micro_batch, const Activations& activations) override;
  bool recomputes() const override { return false; }  // losses would be counted twice

  // Returns the sums since the last call, over training or over evaluation. Waits for the device.
  Losses take_losses(bool training);

 private:
  struct Saved final : BlockActivations {
    MaskedLmHead::Saved masked_lm;
    NextSentenceHead::Saved next_sentence;
    ResidualNorm::Saved norm;  // only with pre-LN
    device::Buffer normed;     // [T, H] input of the heads, with pre-LN
  };
  // Device memory: totals of the masked-LM head, then of the next-sentence head.
  device::LossTotals* totals(bool training) const;

  bool normalizes() const { return context_.config.norm == Norm::kPre; }

  ResidualNorm norm_;
  MaskedLmHead masked_lm_;
  NextSentenceHead next_sentence_;
  device::Buffer totals_;
  device::HostBuffer host_totals_;  // [2] LossTotals, for take_losses()
};

}  // namespace strata::bert
