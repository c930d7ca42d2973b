#include "bert/parameters/parameter_store.h"

#include <vector>

#include "base/error.h"
#include "bert/batches/device_batch.h"

namespace strata::bert {
namespace {

using device::DType;
using device::Tensor;

Tensor part(const device::Arena& arena, const Parameter& p) {
  Tensor result = elements_of(arena, {p.offset, p.offset + p.size()});
  result.rows = p.rows;
  result.cols = p.cols;
  return result;
}

}  // namespace

ParameterStore::ParameterStore(device::Backend& backend, const ParameterLayout& layout,
                               const Sharding* sharding)
    : backend_(backend), size_(layout.size) {
  const DType master = backend.master_dtype(), compute = backend.compute_dtype();
  const bool shards_weights = sharding && sharding->weights;
  const auto kept_weights = [&](DType dtype) {
    return shards_weights ? make_shards(*sharding, dtype) : device::Arena(take(size_, dtype));
  };
  master_ = kept_weights(master);
  if (compute != master) compute_ = kept_weights(compute);
  if (shards_weights) read_ = make_gather_groups(*sharding, compute);
  gradients_ =
      sharding ? make_gather_groups(*sharding, master) : device::Arena(take(size_, master));
  if (sharding) sums_ = make_shards(*sharding, master);
}

Tensor ParameterStore::take(int64_t elements, DType dtype) {
  memory_.emplace_back(backend_, static_cast<size_t>(elements) * size_of(dtype));
  return {memory_.back().data(), dtype, 1, elements};
}

device::Arena ParameterStore::make_shards(const Sharding& sharding, DType dtype) {
  return {take(device::total_size(sharding.shards), dtype), size_, device::packed(sharding.shards)};
}

device::Arena ParameterStore::make_gather_groups(const Sharding& sharding, DType dtype) {
  return {take(sharding.gather_group_elements, dtype), size_, sharding.gather_groups};
}

void ParameterStore::set_weights(const HostWeights& weights) {
  if (static_cast<int64_t>(weights.size()) != size_) {
    fail("{} weights were given, but the model has {}", weights.size(), size_);
  }
  std::vector<double> wide;  // must live until the copy is done
  if (backend_.master_dtype() == DType::kF64) wide.assign(weights.begin(), weights.end());
  for (const auto& [range, place] : master_.runs()) {
    const Tensor to = elements_of(master_, range);
    const void* from = wide.empty() ? static_cast<const void*>(weights.data() + range.begin)
                                    : wide.data() + range.begin;
    backend_.copy_to_device(kCompute, to.data, from, to.bytes());
  }
  round_weights();
}

void ParameterStore::round_weights() {
  if (compute_) backend_.convert(kCompute, {master_.memory(), 1.0f, compute_.memory()});
  backend_.synchronize(kCompute);
}

HostWeights ParameterStore::weights() const {
  HostWeights weights(static_cast<size_t>(size_));
  const bool is_wide = backend_.master_dtype() == DType::kF64;
  std::vector<double> wide(is_wide ? weights.size() : 0);
  for (const auto& [range, place] : master_.runs()) {
    const Tensor from = elements_of(master_, range);
    void* to =
        is_wide ? static_cast<void*>(wide.data() + range.begin) : weights.data() + range.begin;
    backend_.copy_to_host(kCompute, to, from.data, from.bytes());
  }
  backend_.synchronize(kCompute);
  if (is_wide) weights.assign(wide.begin(), wide.end());
  return weights;
}

device::ConstTensor ParameterStore::weight(const Parameter& parameter) const {
  return part(read_instead_ ? *read_instead_ : read_weights(), parameter);
}

Tensor ParameterStore::gradient(const Parameter& parameter) const {
  return part(gradients(), parameter);
}

void ParameterStore::clear_gradient(const Parameter& parameter) {
  clear_gradients({parameter.offset, parameter.offset + parameter.size()});
}

void ParameterStore::clear_gradients(const Range& range) {
  const Tensor cleared = elements_of(gradients(), range);
  backend_.fill_zero(kCompute, cleared.data, cleared.bytes());
}

int64_t ParameterStore::weight_bytes() const {
  return static_cast<int64_t>(master_.memory().bytes() + compute_.memory().bytes() +
                              read_.memory().bytes());
}

int64_t ParameterStore::gradient_bytes() const {
  return static_cast<int64_t>(gradients_.memory().bytes() + sums_.memory().bytes());
}

}  // namespace strata::bert
