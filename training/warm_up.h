// What is done before the clock starts, so that the first timed steps are as fast as later ones.
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
  device::GraphCache::Captured graphs;  // of these shapes: several a shape
  double seconds = 0;
};

// Trains initialization.warmup_steps steps on synthetic batches, so that memory is touched, kernels
// are loaded and ranks are connected. On a device that autotunes, or launches graphs,
// also, where data.shapes tells them, synthetic micro-batches of the shapes that the steps
// (as many as draw eight million samples) and the evaluations will have. Nothing of the data set is
// read. Leaves weights as they were, provided that they are `weights`, no gradients and no losses.
// All ranks call together, before the trainer starts. Throws Error where data.shapes names no such
// file.
WarmUp warm_up(const config::RunConfig& config, bert::Model& model,
               const bert::HostWeights& weights, Trainer& trainer);

}  // namespace strata::training
