// What is done before the clock starts, so that the first timed steps are as fast as later ones.
#pragma once

#include <cstdint>

#include "bert/model/model.h"
#include "training/evaluation.h"
#include "training/trainer.h"

namespace strata::training {

struct WarmUp {
  int tried = 0;     // micro-batches that the device was to find out on what is fastest
  int captured = 0;  // shapes of micro-batches whose graphs are launched from the first step on
  double seconds = 0;
};

// Trains `steps` steps on synthetic batches, so that memory is touched, kernels are loaded and
// ranks are connected. On a device that tries what is fastest, or launches graphs, also synthetic
// micro-batches of the shapes that the first `planned_steps` steps (as many as draw eight million
// samples) and the evaluations will have: what they hold is not read. Nothing where `steps` is 0.
// Leaves weights as they were, provided that they are `weights`, no gradients and no losses. All
// ranks call together, before the trainer starts.
WarmUp warm_up(int steps, int64_t planned_steps, bert::Model& model,
               const bert::HostWeights& weights, Trainer& trainer, const Evaluator& evaluator);

}  // namespace strata::training
