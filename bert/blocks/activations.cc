#include "bert/blocks/activations.h"

#include <map>
#include <typeindex>
#include <utility>

#include "bert/blocks/block.h"

namespace strata::bert {

BlockMemory make_block_memory(const std::vector<std::unique_ptr<Block>>& blocks, bool shared) {
  BlockMemory memory;
  std::map<std::type_index, std::shared_ptr<const BlockActivations>> of_type;
  for (const auto& block : blocks) {
    if (!block) {
      memory.push_back(nullptr);
      continue;
    }
    const Block& made = *block;
    auto& first = of_type[typeid(made)];
    if (!shared || !first) first = made.make_activations();
    memory.push_back(first);
  }
  return memory;
}

Activations::Activations(device::Backend& backend, BlockMemory blocks, int64_t tokens,
                         int64_t hidden, const Activations* lender,
                         const std::vector<bool>& borrowed)
    : dtype_(backend.compute_dtype()), hidden_(hidden), blocks_(std::move(blocks)) {
  const size_t bytes = static_cast<size_t>(tokens * hidden) * size_of(dtype_);
  for (size_t block = 0; block + 1 < blocks_.size(); ++block) {
    const bool crosses = blocks_[block] || blocks_[block + 1];
    if (!crosses) {
      outputs_.push_back(nullptr);
    } else if (lender && borrowed[block]) {
      outputs_.push_back(lender->outputs_[block]);
    } else {
      outputs_.push_back(std::make_shared<const device::Buffer>(backend, bytes));
    }
  }
  gradient_ = device::Buffer(backend, bytes);
}

device::Tensor Activations::output(int block, int64_t tokens) const {
  return {outputs_[static_cast<size_t>(block)]->data(), dtype_, tokens, hidden_};
}

device::Tensor Activations::gradient(int64_t tokens) const {
  return {gradient_.data(), dtype_, tokens, hidden_};
}

}  // namespace strata::bert
