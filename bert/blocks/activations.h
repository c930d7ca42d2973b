// What one micro-batch's forward leaves for its backward, apart from weights: as many micro-batches
// can be in flight as there are of these.
#pragma once

#include <memory>
#include <vector>

#include "device/backend.h"
#include "device/memory/buffer.h"

namespace strata::bert {

class Block;

// What one block leaves.
struct BlockActivations {
  virtual ~BlockActivations() = default;
};

// Of every block, in the order of forward; null where another stage has the block. Where blocks
// share memory, a block's backward must come before any other forward that writes it.
using BlockMemory = std::vector<std::shared_ptr<const BlockActivations>>;
// `shared`: blocks of one type have the same memory.
BlockMemory make_block_memory(const std::vector<std::unique_ptr<Block>>& blocks, bool shared);

class Activations {
 public:
  // Takes memory for what `blocks` read and write of each other and of other stages, of one
  // micro-batch of up to `tokens`: tensors [T, hidden] of the compute dtype. The rest is `blocks`.
  // `borrowed`: the outputs of these blocks lie in the memory that `lender` has for them.
  Activations(device::Backend& backend, BlockMemory blocks, int64_t tokens, int64_t hidden,
              const Activations* lender = nullptr, const std::vector<bool>& borrowed = {});

  // What block `block` reads, the output of the one before it; and what it writes.
  device::Tensor input(int block, int64_t tokens) const { return output(block - 1, tokens); }
  device::Tensor output(int block, int64_t tokens) const;
  // In backward: the gradient of a block's output, in whose place the block leaves its input's.
  device::Tensor gradient(int64_t tokens) const;

  template <typename T>
  const T& of(int block) const {
    return static_cast<const T&>(*blocks_[static_cast<size_t>(block)]);
  }
  const BlockMemory& blocks() const { return blocks_; }

 private:
  device::DType dtype_;
  int64_t hidden_;
  // Of all blocks but the last; null between other stages.
  std::vector<std::shared_ptr<const device::Buffer>> outputs_;
  device::Buffer gradient_;
  BlockMemory blocks_;
};

}  // namespace strata::bert
