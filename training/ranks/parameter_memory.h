// What a rank's parameters take of its memory.
#pragma once

#include <cstdint>

#include "bert/model/model.h"
#include "optim/optimizer.h"

namespace strata::training {

// Bytes of device memory on this rank. With n parameters and shards of n_r on r ranks, U elements
// in units (comm/buckets/sharding/units.h: two layers, embeddings and heads), c bytes of the compute
// dtype, or 0 where that is f32, and c' bytes of what blocks read (c, or 4):
//   optimizer.sharded   weights             gradients      state
//   none                (4 + c) n           4 n            8 n
//   state               (4 + c) n           4 n            8 n_r
//   gradients           (4 + c) n           4 n_r + 4 U    8 n_r
//   all                 (4 + c) n_r + c' U  4 n_r + 4 U    8 n_r
// Where micro-batches' gradients are summed before they are reduced, the word embeddings' are there
// twice. Copies of weights that delayed backwards read are among the weights. Staging for gradients
// that are reduced in another dtype is not counted.
struct ParameterMemory {
  int64_t weights = 0;
  int64_t gradients = 0;
  int64_t state = 0;  // of the optimizer: moments

  int64_t total() const { return weights + gradients + state; }
};
ParameterMemory parameter_memory(const bert::Model& model, optim::Optimizer& optimizer);

}  // namespace strata::training
