// Progressive layer dropping (Zhang & He, arXiv 2010.13369): a step skips random layers, deeper
// layers and later steps more often.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata::bert {

struct LayerDrop {
  double theta = 1;  // limit of theta_at(), in (0, 1]; 1: no layer is dropped
  double gamma = 0;  // decay rate per step; at least 0

  bool enabled() const { return theta < 1; }
};

// Returns (1 - theta) exp(-gamma t) + theta with t = step - 1. `step` counts from 1.
double theta_at(const LayerDrop& drop, uint64_t step);
// Returns 1 - (layer / layers) (1 - theta_at(step)). `layer` counts from 0.
double keep_probability(const LayerDrop& drop, uint64_t step, size_t layer, size_t layers);

// Draws a step's layers. Returns every layer's factor s, [layers] (see pre_norm_layer.h): 0 if the
// layer is dropped, else 1 / keep probability. Depends only on the arguments, so it is equal on all
// ranks and for all micro-batches of the step. `seed` is the run's; `step` counts from 1.
std::vector<float> layer_scales(const LayerDrop& drop, uint64_t seed, uint64_t step, size_t layers);

// Returns the fraction of the encoder's arithmetic that remains over the first `steps` steps: the
// mean keep probability of all layers. Requires `steps` >= 1.
double expected_share(const LayerDrop& drop, uint64_t steps, size_t layers);

}  // namespace strata::bert
