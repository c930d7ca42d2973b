// The first block: computes hidden states from tokens, positions and token types.
#pragma once

#include <optional>

#include "bert/blocks/block.h"
#include "device/memory/flat_sum.h"

namespace strata::bert {

// Memory in which the embeddings accumulate their part of the word gradient (the gradient of the
// word embeddings). The masked-LM head's part is in the arena.
enum class WordGradient : uint8_t {
  kTogether,  // added to the head's part in every micro-batch
  // Accumulated separately; Block::complete adds it, so that results do not depend on the order of
  // a step's forwards and backwards.
  kSplit,
  kSplitForGood,  // accumulated separately; gradient reduction adds and clears it
};

class Embeddings final : public Block {
 public:
  // `word_gradient` says where backward accumulates the embedding part of the word gradient.
  Embeddings(const BlockContext& context, const ParameterLayout& layout, int index,
             WordGradient word_gradient);

  std::unique_ptr<BlockActivations> make_activations() const override;
  void forward(const MicroBatch& micro_batch, const Activations& activations) override;
  void backward(const MicroBatch& micro_batch, const Activations& activations) override;
  void complete() override;

  // The embedding part of the word gradient, [V, H]; absent with kTogether.
  device::Tensor input_words() const;

 private:
  struct Saved final : BlockActivations {
    device::Buffer normalized, inverse_stddev;  // inverse_stddev is empty without LayerNorm
  };
  device::Dropout dropout(const MicroBatch& micro_batch) const;
  device::Tensor inverse_stddev(const Saved& saved, int64_t tokens) const;

  const ParameterLayout& layout_;
  WordGradient word_gradient_;
  device::Buffer input_words_;          // zeros between steps; empty with kTogether
  std::optional<device::FlatSum> sum_;  // only for kSplit
};

}  // namespace strata::bert
