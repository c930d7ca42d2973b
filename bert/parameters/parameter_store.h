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

// Memory of a rank whose parameters are sharded: its shards of them, and memory that the gather
// groups share in the course of a step (comm/buckets/sharding/gather_groups.h).
struct Sharding {
  std::vector<Range> shards;  // in the arena, ascending
  // Gather groups of blocks, ascending, and their positions in memory of `gather_group_elements`.
  std::vector<device::Arena::Run> gather_groups;
  int64_t gather_group_elements = 0;
  bool weights = false;  // shard weights and gradients; else gradients only
};

class ParameterStore {
 public:
  // Allocates arenas of `layout`.size elements: master weights, gradients and, if the dtypes
  // differ, compute weights. `sharding`: null if this rank keeps all elements. `backend` must
  // outlive this object.
  ParameterStore(device::Backend& backend, const ParameterLayout& layout,
                 const Sharding* sharding = nullptr);

  // Throws Error if the number of weights differs from the layout's.
  void set_weights(const HostWeights& weights);
  // Returns zeros for weights that this rank does not keep.
  HostWeights weights() const;
  // Rounds the master weights to compute weights, after the former were overwritten.
  void round_weights();

  // The arenas that this rank keeps between steps: whole, or its shards one after another. Compute
  // weights are the master weights if the dtypes agree.
  const device::Arena& master_weights() const { return master_; }
  const device::Arena& compute_weights() const { return compute_ ? compute_ : master_; }
  // Gradients that backward writes, and the sums that a rank keeps; the same if not sharded.
  const device::Arena& gradients() const { return gradients_; }
  const device::Arena& gradient_sums() const { return sums_ ? sums_ : gradients_; }
  // Weights that blocks read: compute_weights(), or gather groups gathered from all ranks.
  const device::Arena& read_weights() const { return read_ ? read_ : compute_weights(); }
  // Device memory in bytes.
  int64_t weight_bytes() const;
  int64_t gradient_bytes() const;
  bool shards_gradients() const { return static_cast<bool>(sums_); }
  bool shards_weights() const { return static_cast<bool>(read_); }

  // Makes blocks read from `weights` instead of read_weights(), until null is passed. The arena has
  // the same size and dtype, and holds at least the parameters that blocks read meanwhile.
  void read_from(const device::Arena* weights) { read_instead_ = weights; }
  // One parameter's part of the weights that blocks read, and of the gradients.
  device::ConstTensor weight(const Parameter& parameter) const;
  device::Tensor gradient(const Parameter& parameter) const;
  // Issued on Stream::kCompute.
  void clear_gradient(const Parameter& parameter);
  void clear_gradients(const Range& range);

 private:
  device::Arena make_shards(const Sharding& sharding, device::DType dtype);
  device::Arena make_gather_groups(const Sharding& sharding, device::DType dtype);
  device::Tensor take(int64_t elements, device::DType dtype);

  device::Backend& backend_;
  int64_t size_;
  std::vector<device::Buffer> memory_;
  // `compute_` is absent if the dtypes agree, `sums_` without sharding, `read_` with whole weights.
  device::Arena master_, compute_, read_, gradients_, sums_;
  const device::Arena* read_instead_ = nullptr;
};

}  // namespace strata::bert
