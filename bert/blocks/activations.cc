#include "bert/blocks/activations.h"

#include "bert/blocks/block.h"

namespace strata::bert {

Activations::Activations(device::Backend& backend,
                         const std::vector<std::unique_ptr<Block>>& blocks, int64_t tokens,
                         int64_t hidden)
    : dtype_(backend.compute_dtype()), hidden_(hidden) {
  const size_t bytes = static_cast<size_t>(tokens * hidden) * size_of(dtype_);
  for (size_t block = 0; block + 1 < blocks.size(); ++block) outputs_.emplace_back(backend, bytes);
  gradient_ = device::Buffer(backend, bytes);
  for (const auto& block : blocks) blocks_.push_back(block->make_activations());
}

device::Tensor Activations::output(int block, int64_t tokens) const {
  return {outputs_[static_cast<size_t>(block)].data(), dtype_, tokens, hidden_};
}

device::Tensor Activations::gradient(int64_t tokens) const {
  return {gradient_.data(), dtype_, tokens, hidden_};
}

}  // namespace strata::bert
