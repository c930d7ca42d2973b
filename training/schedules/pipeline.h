// The stages of a pipeline, each with some of the layers (Lamy-Poirier, arXiv 2106.02679).
#pragma once

#include "training/schedules/schedule.h"

namespace strata::training {

// Of one stage. Layers that follow each other on it are a run. Forward takes all micro-batches
// through one run, then through the next, backward the same in reverse; stage 0 takes each
// micro-batch through the heads and back in between. What other stages send is received beside the
// work on the micro-batch before. A block's gradients become ready after its last micro-batch. All
// micro-batches are in flight.
//
// With n micro-batches (at least as many as stages P) a stage waits for (P - 1) / n of its working
// time where its layers are contiguous, (P - 1) / (n L / P) where they are modular: the next stage
// then begins when a micro-batch is through one layer instead of L / P. L: layers of the model.
// (Embeddings and heads, and the way from stage to stage, come on top.)
Schedule pipeline(const bert::Stage& stage, int blocks, int micro_batches, bool recompute);

// Its forwards alone, of as many micro-batches, to evaluate them.
Schedule pipeline_forward(const bert::Stage& stage, int blocks, int micro_batches);

}  // namespace strata::training
