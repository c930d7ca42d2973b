// The device memory that a rank's parameters take.
#pragma once

#include <cstdint>

#include "bert/model/model.h"
#include "optim/optimizer.h"

namespace strata::training {

// Bytes of device memory on this rank, for n parameters, n_r in its shard, and room for U elements
// of gather groups (first, last, and twice the largest between). The compute copy of a weight takes
// c bytes (0 if the dtype is f32: there is no copy), a gathered weight c' bytes (4 if f32, else c).
// The optimizer keeps s numbers per weight (state_per_weight: SGD 1, MADGRAD 3, others 2):
//   optimizer.sharded   weights             gradients      state
//   none                (4 + c) n           4 n            4 s n
//   state               (4 + c) n           4 n            4 s n_r
//   gradients           (4 + c) n           4 n_r + 4 U    4 s n_r
//   all                 (4 + c) n_r + c' U  4 n_r + 4 U    4 s n_r
// There are two copies of the word embeddings' gradient if micro-batches are summed before the
// reduction, or with reduce.split_tied_embedding. `weights` includes the stash for delayed backward
// passes. Staging for gradients that are reduced in another dtype is not counted.
struct ParameterMemory {
  int64_t weights = 0;
  int64_t gradients = 0;
  int64_t state = 0;  // the optimizer's state

  int64_t total() const { return weights + gradients + state; }
};
ParameterMemory parameter_memory(const bert::Model& model, optim::Optimizer& optimizer);

}  // namespace strata::training
