// Pipeline parallelism: each stage has some of the layers (Lamy-Poirier, arXiv 2106.02679).
#pragma once

#include "training/schedules/schedule.h"

namespace strata::training {

// The tasks of one stage. Consecutive blocks of a stage form a run, except the heads. Forward takes
// all micro-batches through one run, then through the next, and backward does the same in reverse.
// In between, stage 0 takes each micro-batch forward and backward through the heads. Messages of
// other stages arrive during the work on the previous micro-batch. A block's gradients become ready
// after its last micro-batch. All micro-batches are in flight.
//
// A stage's bubble, as a share of its working time with n micro-batches (at least as many as stages
// P) and L layers, is (P - 1) / n if its layers are contiguous, and (P - 1) / (n L / P) if they are
// modular: the next stage then begins when a micro-batch has passed one layer instead of L / P.
// Embeddings, heads and messages add to the bubble.
Schedule pipeline(const bert::Stage& stage, int blocks, int micro_batches, bool recompute);

// The forwards alone, for evaluation.
Schedule pipeline_forward(const bert::Stage& stage, int blocks, int micro_batches);

}  // namespace strata::training
