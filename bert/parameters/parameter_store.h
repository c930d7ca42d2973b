// A model's weights and gradients in device memory.
#pragma once

#include <cstdint>
#include <vector>

#include "base/range.h"
#include "bert/parameters/parameters.h"
#include "device/backend.h"
#include "device/memory/arena.h"
#include "device/memory/buffer.h"

namespace strata::bert {

// Where a rank whose parameters are sharded keeps them: what a step works on is whole,
// but takes turns in memory; of the rest there are this rank's shards.
struct Sharding {
  std::vector<Range> shards;  // of the arena, rising
  // Runs of blocks, rising, and where they lie in memory of `unit_elements`.
  std::vector<device::Arena::Run> units;
  int64_t unit_elements = 0;
  bool weights = false;  // both are; else gradients alone
};

class ParameterStore {
 public:
  // Takes memory for arenas of `layout`.size elements: master weights, gradients and, where the
  // dtypes differ, compute weights. `sharding`: null where this rank has all of them. `backend`
  // outlives it.
  ParameterStore(device::Backend& backend, const ParameterLayout& layout,
                 const Sharding* sharding = nullptr);

  // Throws Error where the number of weights is not the layout's.
  void set_weights(const HostWeights& weights);
  // Zeros where this rank has none.
  HostWeights weights() const;
  // Rounds the master weights, which have been overwritten, to compute weights.
  void round_weights();

  // The arenas that this rank keeps from step to step: whole, or its shards one after another.
  // Compute weights are the master weights where the dtypes agree.
  const device::Arena& master_weights() const { return master_; }
  const device::Arena& compute_weights() const { return compute_ ? compute_ : master_; }
  // What backward writes, and where a rank keeps the sums: the same, where they are not sharded.
  const device::Arena& gradients() const { return gradients_; }
  const device::Arena& gradient_sums() const { return sums_ ? sums_ : gradients_; }
  // What blocks read: compute_weights(), or units that are gathered from all ranks.
  const device::Arena& read_weights() const { return read_ ? read_ : compute_weights(); }
  // Of device memory.
  int64_t weight_bytes() const;
  int64_t gradient_bytes() const;
  bool shards_gradients() const { return static_cast<bool>(sums_); }
  bool shards_weights() const { return static_cast<bool>(read_); }

  // What blocks read instead of read_weights(), which null brings back: an arena of the same size
  // and dtype, of at least the parameters that they read until then.
  void read_from(const device::Arena* weights) { read_instead_ = weights; }
  // One parameter's part of the compute weights, or of what is read instead, and of the gradients.
  device::ConstTensor weight(const Parameter& parameter) const;
  device::Tensor gradient(const Parameter& parameter) const;
  // On Stream::kCompute.
  void clear_gradient(const Parameter& parameter);
  void clear_gradients(const Range& range);

 private:
  device::Arena make_shards(const Sharding& sharding, device::DType dtype);
  device::Arena make_units(const Sharding& sharding, device::DType dtype);
  device::Tensor take(int64_t elements, device::DType dtype);

  device::Backend& backend_;
  int64_t size_;
  std::vector<device::Buffer> memory_;
  // Absent: `compute_` where the dtypes agree, `sums_` and `read_` where nothing is sharded.
  device::Arena master_, compute_, read_, gradients_, sums_;
  const device::Arena* read_instead_ = nullptr;
};

}  // namespace strata::bert
