#include "optim/update_state.h"

#include "base/error.h"

namespace strata::optim {
namespace {

void check_arena(const ParameterArena& arena) {
  const int64_t n = arena.weights.size();
  if (arena.gradients.size() != n || (arena.compute_weights && arena.compute_weights.size() != n)) {
    fail("an arena has {} weights, {} gradients and {} compute weights: the numbers must be equal",
         n, arena.gradients.size(), arena.compute_weights.size());
  }
}

}  // namespace

void check_beta(const char* optimizer, const char* option, double value) {
  if (!(value >= 0 && value < 1)) {
    fail("{}'s {} is {}: it must be at least 0 and below 1", optimizer, option, value);
  }
}

void check_not_negative(const char* optimizer, const char* option, double value) {
  if (!(value >= 0)) fail("{}'s {} is {}: it must be at least 0", optimizer, option, value);
}

UpdateState::UpdateState(device::Backend& backend, const ParameterArena& arena,
                         std::span<const char* const> names, std::span<const Range> owned,
                         size_t step_bytes)
    : backend_(backend),
      arena_(arena),
      owned_(owned.begin(), owned.end()),
      names_(names.begin(), names.end()),
      step_values_(backend, step_bytes) {
  check_arena(arena);
  if (owned_.empty()) owned_ = {{0, arena.weights.size()}};
  const device::DType dtype = arena.weights.memory().dtype;
  const int64_t size = device::total_size(owned_);
  for (size_t i = 0; i < names_.size(); ++i) {
    buffers_.emplace_back(backend, static_cast<size_t>(size) * device::size_of(dtype));
    arenas_.emplace_back(device::Tensor{buffers_.back().data(), dtype, 1, size},
                         arena.weights.size(), device::packed(owned_));
  }
}

void UpdateState::begin_step(device::Stream stream, const void* values) {
  backend_.store(stream, step_values_.data(), values, step_values_.bytes());
  step_begun_ = true;
}

device::Tensor UpdateState::elements(size_t which, const Range& range) const {
  if (!step_begun_) fail("weights cannot be updated before a step has begun");
  if (arenas_[which].place_of(range) < 0) {
    fail("elements [{}, {}) cannot be updated: this rank does not keep the state of all of them",
         range.begin, range.end);
  }
  return elements_of(arenas_[which], range);
}

std::vector<device::StateTensor> UpdateState::tensors() const {
  std::vector<device::StateTensor> tensors;
  for (size_t i = 0; i < names_.size(); ++i) tensors.push_back({names_[i], arenas_[i].memory()});
  return tensors;
}

}  // namespace strata::optim
