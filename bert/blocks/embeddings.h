// The first block: tokens, positions and segments to hidden states.
#pragma once

#include <optional>

#include "bert/blocks/block.h"
#include "device/memory/flat_sum.h"

namespace strata::bert {

// Where the input's part of the word embeddings' gradient goes; the masked-LM head's is in the
// arena.
enum class WordGradient : uint8_t {
  kTogether,      // added to the head's, micro-batch by micro-batch
  kSplit,         // summed apart, added by Block::complete: the order of a step's forwards and
                  // backwards then changes no bit
  kSplitForGood,  // summed apart; whoever reduces gradients adds it, and clears it
};

class Embeddings final : public Block {
 public:
  // `word_gradient`: see ModelOptions.
  Embeddings(const BlockContext& context, const ParameterLayout& layout, int index,
             WordGradient word_gradient);

  std::unique_ptr<BlockActivations> make_activations() const override;
  void forward(const MicroBatch& micro_batch, const Activations& activations) override;
  void backward(const MicroBatch& micro_batch, const Activations& activations) override;
  void complete() override;

  // The input's part of the gradient of the words, [V, H]; absent where it is not apart.
  device::Tensor input_words() const;

 private:
  struct Saved final : BlockActivations {
    device::Buffer normalized, inverse_stddev;  // the latter empty without LayerNorm
  };
  device::Dropout dropout(const MicroBatch& micro_batch) const;
  device::Tensor inverse_stddev(const Saved& saved, int64_t tokens) const;

  const ParameterLayout& layout_;
  WordGradient word_gradient_;
  device::Buffer input_words_;  // zeros between steps; empty where the input's part is not apart
  std::optional<device::FlatSum> sum_;  // kSplit
};

}  // namespace strata::bert
