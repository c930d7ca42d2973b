// One block after another, each with all micro-batches, forward and back (layered gradient
// accumulation, Lamy-Poirier, arXiv 2106.02679).
#pragma once

#include "training/schedules/schedule.h"

namespace strata::training {

// A block's gradients become ready as soon as its last micro-batch is through, and are reduced
// beside the backwards of all micro-batches through all blocks before it. All micro-batches are in
// flight. The heads go back with each micro-batch at once, so that with `recompute` all share their
// memory. Gradients have the bits of micro_batch_order: sums are in the same order.
Schedule layer_order(int blocks, int micro_batches, bool recompute);

}  // namespace strata::training
