// Progressive layer dropping (Zhang & He, arXiv 2010.13369): a step leaves layers out, deeper ones
// and later steps more often.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata::bert {

struct LayerDrop {
  double theta = 1;  // what theta_at() falls to, in (0, 1]; 1: no layer is dropped
  double gamma = 0;  // its rate of decay per step; at least 0

  bool enabled() const { return theta < 1; }
};

// (1 - theta) exp(-gamma t) + theta, where t steps come before `step`, which counts from 1.
double theta_at(const LayerDrop& drop, uint64_t step);
// Of layer number `layer`, from 0, of `layers`: 1 - (layer / layers) (1 - theta_at(step)).
double keep_probability(const LayerDrop& drop, uint64_t step, size_t layer, size_t layers);

// Draws a step's layers. Returns [layers]: s of every layer (see pre_norm_layer.h), 1 / its keep
// probability, or 0 where it is dropped. Follows from the arguments alone, so it is equal on all
// ranks and for all micro-batches of the step. `seed`: of the run; `step`: from 1.
std::vector<float> layer_scales(const LayerDrop& drop, uint64_t seed, uint64_t step, size_t layers);

// The share of the encoder's arithmetic that is left over the first `steps` steps, at least 1: the
// mean keep probability of all layers.
double expected_share(const LayerDrop& drop, uint64_t steps, size_t layers);

}  // namespace strata::bert
