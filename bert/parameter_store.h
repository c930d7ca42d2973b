// A model's weights and gradients in device memory.
#pragma once

#include "bert/parameters.h"
#include "device/backend.h"
#include "device/buffer.h"

namespace strata::bert {

class ParameterStore {
 public:
  // Takes memory for flat arenas of `layout`.size elements: master weights, gradients and, where
  // the dtypes differ, compute weights. `backend` outlives it.
  ParameterStore(device::Backend& backend, const ParameterLayout& layout);

  // Throws Error where the number of weights is not the layout's.
  void set_weights(const HostWeights& weights);
  HostWeights weights() const;
  // Rounds the master weights, which have been overwritten, to compute weights.
  void round_weights();

  // The arenas, [1, size]. Compute weights are the master weights where the dtypes agree.
  device::Tensor master_weights() const;
  device::Tensor compute_weights() const;
  device::Tensor gradients() const;

  // One parameter's part of the compute weights and of the gradients.
  device::ConstTensor weight(const Parameter& parameter) const;
  device::Tensor gradient(const Parameter& parameter) const;
  // On Stream::kCompute.
  void clear_gradient(const Parameter& parameter);

 private:
  device::Backend& backend_;
  int64_t size_;
  device::Buffer master_, compute_, gradients_;  // compute_ is empty where the dtypes agree
};

}  // namespace strata::bert
