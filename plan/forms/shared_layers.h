// Simulates a step with sharded gradients or weights, layer by layer.
#pragma once

#include <cstdint>

namespace strata::plan {

// Seconds of one rank. Embeddings take no time to compute.
struct SharedLayers {
  int64_t layers = 1;
  int64_t passes = 1;  // forward and backward: one per micro-batch, or one in all with layer order
  // Times of one layer in a pass.
  double forward = 0, backward = 0;
  double heads = 0;  // forward and backward in a pass

  // Times of transfers that have the link alone.
  bool gathers_weights = false;
  double layer_gather = 0, words_gather = 0;
  double layer_reduce = 0, words_reduce = 0;  // in every pass
  double layer_return = 0, words_return = 0;  // updated weights, after the last pass's reductions
};

// Follows the step's tasks in order. A layer's weights are gathered while the layer before
// computes; memory holds two layers' weights. Embeddings, the last layer and the heads stay in
// memory for the step. A layer's gradients are reduced after its backward; memory holds two layers'
// gradients. Gathers run one after another, and so do reductions. A simultaneous gather and
// reduction have half the link each.
double shared_layers_seconds(const SharedLayers& step);

}  // namespace strata::plan
