// HPC's weak scaling: the throughput of a system that trains several models at once.
#pragma once

#include "mllog/log_reader.h"
#include "scoring/score.h"

namespace strata::scoring {

// Returns the accelerators that train one model, from its log: number_of_nodes times
// accelerators_per_node, which counts as at least 1. Empty unless both are whole numbers.
std::optional<int64_t> read_instance_scale(const mllog::LogReader& log);

// Sets the weak-scaling score of a folder.
void set_weak_score(Score& score);

}  // namespace strata::scoring
