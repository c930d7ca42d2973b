// Progressive layer dropping (Zhang & He, arXiv 2010.13369): a step leaves layers out, deeper ones
// and later steps more often.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace strata::bert {

struct LayerDrop {
  double theta = 1;  // what theta_at() falls to, in (0, 1]; 1: no layer is dropped
  double gamma = 0;  // how fast, a step; at least 0

  bool enabled() const { return theta < 1; }
};

// (1 - theta) exp(-gamma t) + theta, where t steps come before `step`, which counts from 1.
double theta_at(const LayerDrop& drop, uint64_t step);
// Of layer i of `layers`, from 0: 1 - (i / layers) (1 - theta_at(step)).
double keep_probability(const LayerDrop& drop, uint64_t step, size_t layer, size_t layers);

// Of every layer of a step: 1 / its keep probability, or 0 where it is dropped. Equal on all ranks
// and for all micro-batches of the step.
std::vector<float> layer_scales(const LayerDrop& drop, uint64_t seed, uint64_t step, size_t layers);

// The share of the encoder's arithmetic that is left over `steps` steps, at least 1: the mean keep
// probability.
double expected_share(const LayerDrop& drop, uint64_t steps, size_t layers);

}  // namespace strata::bert
