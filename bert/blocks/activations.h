// The activations that one micro-batch's forward keeps for its backward. Weights are not among
// them, so that each micro-batch in flight can have an Activations object of its own.
#pragma once

#include <memory>
#include <vector>

#include "device/backend.h"
#include "device/memory/buffer.h"

namespace strata::bert {

class Block;

// The activations of one block.
struct BlockActivations {
  virtual ~BlockActivations() = default;
};

// One per block, in forward order; null if another pipeline stage has the block. If blocks share
// memory, a block's backward must come before the next forward that writes it.
using BlockMemory = std::vector<std::shared_ptr<const BlockActivations>>;
// Makes the memory of all blocks. If `shared`, blocks of the same type share it.
BlockMemory make_block_memory(const std::vector<std::unique_ptr<Block>>& blocks, bool shared);

class Activations {
 public:
  // Allocates the tensors that blocks and pipeline stages pass to each other, for one micro-batch
  // of up to `tokens`: [T, hidden] of the compute dtype. `blocks` holds the other activations.
  // Outputs of `borrowed` blocks lie in the memory of `lender`.
  Activations(device::Backend& backend, BlockMemory blocks, int64_t tokens, int64_t hidden,
              const Activations* lender = nullptr, const std::vector<bool>& borrowed = {});

  // Returns the input of a block, which is the output of the previous block.
  device::Tensor input(int block, int64_t tokens) const { return output(block - 1, tokens); }
  device::Tensor output(int block, int64_t tokens) const;
  // In backward, holds the gradient of a block's output, then that of its input.
  device::Tensor gradient(int64_t tokens) const;

  template <typename T>
  const T& of(int block) const {
    return static_cast<const T&>(*blocks_[static_cast<size_t>(block)]);
  }
  const BlockMemory& blocks() const { return blocks_; }

 private:
  device::DType dtype_;
  int64_t hidden_;
  // One per block but the last; null if neither the block nor the next one is on this stage.
  std::vector<std::shared_ptr<const device::Buffer>> outputs_;
  device::Buffer gradient_;
  BlockMemory blocks_;
};

}  // namespace strata::bert
