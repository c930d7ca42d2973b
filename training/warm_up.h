// Work before the clock starts that makes the first timed steps as fast as later ones.
#pragma once

#include <cstdint>

#include "bert/model/model.h"
#include "config/run_config.h"
#include "device/graph_cache.h"
#include "training/trainer.h"

namespace strata::training {

struct WarmUp {
  int tried = 0;     // micro-batches that the device was autotuned on
  int captured = 0;  // shapes of micro-batches whose graphs are launched from the first step on
  device::GraphCache::Captured graphs;  // graphs of these shapes, several per shape
  double seconds = 0;
};

// Trains initialization.warmup_steps steps (0: does nothing) on synthetic batches, to touch memory,
// load kernels and connect ranks. If the device autotunes or launches graphs, and data.shapes is
// set, also runs synthetic micro-batches of the shapes that will occur in evaluations (with
// data.eval_samples) and in the first steps: eight million samples, at least 1000 steps. Reads no
// data set. Sets the weights to `weights` in the end, and leaves no gradients or losses. All ranks
// call together, before the trainer starts. Throws Error if data.shapes cannot be read.
WarmUp warm_up(const config::RunConfig& config, bert::Model& model,
               const bert::HostWeights& weights, Trainer& trainer);

}  // namespace strata::training
