// Each micro-batch runs forward and backward through all blocks before the next one starts.
#pragma once

#include "training/schedules/schedule.h"

namespace strata::training {

// Gradients become ready block by block in the last micro-batch's backward, which overlaps their
// reduction. One micro-batch is in flight.
Schedule micro_batch_order(int blocks, int micro_batches, bool recompute = false);
// The same order, but every micro-batch's backward reduces gradients, so that no rank keeps all of
// them.
Schedule micro_batch_rounds(int blocks, int micro_batches, bool recompute);

}  // namespace strata::training
