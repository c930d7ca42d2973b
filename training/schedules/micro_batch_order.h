// One micro-batch after another, each through all blocks and back.
#pragma once

#include "training/schedules/schedule.h"

namespace strata::training {

// Gradients become ready, block by block, in the last micro-batch's backward, beside which they are
// reduced. One micro-batch is in flight.
Schedule micro_batch_order(int blocks, int micro_batches, bool recompute = false);
// The same, but gradients are reduced in every micro-batch's backward: no rank keeps all of them.
Schedule micro_batch_rounds(int blocks, int micro_batches, bool recompute);

}  // namespace strata::training
