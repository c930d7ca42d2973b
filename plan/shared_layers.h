// How long a step takes where ranks share gradients or weights out, layer by layer.
#pragma once

#include <cstdint>

namespace strata::plan {

// Seconds, of one rank. Embeddings take no time to compute.
struct SharedLayers {
  int64_t layers = 1;
  int64_t passes = 1;  // forward and back: of every micro-batch, in layer order one
  // A layer's, in a pass.
  double forward = 0, backward = 0;
  double heads = 0;  // forward and back, in a pass

  // Alone on the link.
  bool gathers_weights = false;
  double layer_gather = 0, words_gather = 0;
  double layer_reduce = 0, words_reduce = 0;  // in every pass
  double layer_return = 0, words_return = 0;  // updated weights, after the last pass's reductions
};

// Follows the step's tasks in order. Weights of a layer are gathered while the layer before is
// computed, and have memory for two layers; embeddings, the last layer and the heads stay for the
// step. A layer's gradients are reduced after its backward, and have memory for two layers as well.
// Gathers follow each other, and so do reductions; one of each shares the link evenly.
double shared_layers_seconds(const SharedLayers& step);

}  // namespace strata::plan
