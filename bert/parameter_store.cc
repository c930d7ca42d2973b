#include "bert/parameter_store.h"

#include <vector>

#include "base/error.h"
#include "bert/device_batch.h"

namespace strata::bert {
namespace {

using device::DType;
using device::Tensor;

device::Buffer arena(device::Backend& backend, int64_t size, DType dtype) {
  return {backend, static_cast<size_t>(size) * size_of(dtype)};
}

Tensor part(const Tensor& arena, const Parameter& p) {
  Tensor result = elements_of(arena, {p.offset, p.offset + p.size()});
  result.rows = p.rows;
  result.cols = p.cols;
  return result;
}

}  // namespace

ParameterStore::ParameterStore(device::Backend& backend, const ParameterLayout& layout)
    : backend_(backend),
      size_(layout.size),
      master_(arena(backend, layout.size, backend.master_dtype())),
      gradients_(arena(backend, layout.size, backend.master_dtype())) {
  if (backend.compute_dtype() != backend.master_dtype()) {
    compute_ = arena(backend, layout.size, backend.compute_dtype());
  }
}

void ParameterStore::set_weights(const HostWeights& weights) {
  if (static_cast<int64_t>(weights.size()) != size_) {
    fail("{} weights were given to a model of {}", weights.size(), size_);
  }
  std::vector<double> wide;  // until the copy is through
  if (backend_.master_dtype() == DType::kF64) {
    wide.assign(weights.begin(), weights.end());
    backend_.copy_to_device(kCompute, master_.data(), wide.data(), wide.size() * sizeof(double));
  } else {
    backend_.copy_to_device(kCompute, master_.data(), weights.data(),
                            weights.size() * sizeof(float));
  }
  round_weights();
}

void ParameterStore::round_weights() {
  if (compute_.data()) backend_.convert(kCompute, {master_weights(), 1.0f, compute_weights()});
  backend_.synchronize(kCompute);
}

HostWeights ParameterStore::weights() const {
  HostWeights weights(static_cast<size_t>(size_));
  if (backend_.master_dtype() == DType::kF64) {
    std::vector<double> wide(weights.size());
    backend_.copy_to_host(kCompute, wide.data(), master_.data(), wide.size() * sizeof(double));
    backend_.synchronize(kCompute);
    weights.assign(wide.begin(), wide.end());
  } else {
    backend_.copy_to_host(kCompute, weights.data(), master_.data(), weights.size() * sizeof(float));
    backend_.synchronize(kCompute);
  }
  return weights;
}

Tensor ParameterStore::master_weights() const {
  return {master_.data(), backend_.master_dtype(), 1, size_};
}

Tensor ParameterStore::compute_weights() const {
  return {compute_.data() ? compute_.data() : master_.data(), backend_.compute_dtype(), 1, size_};
}

Tensor ParameterStore::gradients() const {
  return {gradients_.data(), backend_.master_dtype(), 1, size_};
}

device::ConstTensor ParameterStore::weight(const Parameter& parameter) const {
  return part(compute_weights(), parameter);
}

Tensor ParameterStore::gradient(const Parameter& parameter) const {
  return part(gradients(), parameter);
}

void ParameterStore::clear_gradient(const Parameter& parameter) {
  const Tensor cleared = gradient(parameter);
  backend_.fill_zero(kCompute, cleared.data, cleared.bytes());
}

}  // namespace strata::bert
