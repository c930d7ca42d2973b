// What one micro-batch's forward leaves for its backward, apart from weights: as many micro-batches
// can be in flight as there are of these.
#pragma once

#include <memory>
#include <vector>

#include "device/backend.h"
#include "device/buffer.h"

namespace strata::bert {

class Block;

// What one block leaves.
struct BlockActivations {
  virtual ~BlockActivations() = default;
};

class Activations {
 public:
  // Takes memory for one micro-batch of up to `tokens` of `blocks`, in the order of forward. What
  // crosses from one to the next is one tensor [T, hidden] of the compute dtype.
  Activations(device::Backend& backend, const std::vector<std::unique_ptr<Block>>& blocks,
              int64_t tokens, int64_t hidden);

  // What block `block` reads, the output of the one before it; and what it writes.
  device::Tensor input(int block, int64_t tokens) const { return output(block - 1, tokens); }
  device::Tensor output(int block, int64_t tokens) const;
  // In backward: the gradient of a block's output, in whose place the block leaves its input's.
  device::Tensor gradient(int64_t tokens) const;

  template <typename T>
  const T& of(int block) const {
    return static_cast<const T&>(*blocks_[static_cast<size_t>(block)]);
  }

 private:
  device::DType dtype_;
  int64_t hidden_;
  std::vector<device::Buffer> outputs_;  // of all blocks but the last
  device::Buffer gradient_;
  std::vector<std::unique_ptr<BlockActivations>> blocks_;
};

}  // namespace strata::bert
