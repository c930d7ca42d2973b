// Each block processes all micro-batches before the next block starts, in forward and backward
// (layered gradient accumulation, Lamy-Poirier, arXiv 2106.02679).
#pragma once

#include "training/schedules/schedule.h"

namespace strata::training {

// A block's gradients are ready after its last micro-batch, and are reduced during the backwards of
// all micro-batches through the blocks before it. All micro-batches are in flight. The heads run a
// micro-batch's backward right after its forward, so that with `recompute` all micro-batches share
// the heads' memory. Gradients are summed as in micro_batch_order and have the same bits.
Schedule layer_order(int blocks, int micro_batches, bool recompute);

}  // namespace strata::training
