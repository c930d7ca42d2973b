// Losses summed over the ranks of a job.
#pragma once

#include "bert/model/model.h"
#include "comm/communicator.h"

namespace strata::training {

// Returns the sum of every rank's `losses`, with the same bits on every rank.
bert::Losses all_reduce(comm::Communicator& communicator, const bert::Losses& losses);

}  // namespace strata::training
