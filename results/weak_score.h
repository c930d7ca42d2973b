// HPC's weak scaling: the throughput of a system that trains several models at once.
#pragma once

#include "compliance/log/event_log.h"
#include "results/score.h"

namespace strata::results {

// Accelerators that train one model, as its log says: number_of_nodes times accelerators_per_node,
// which counts as 1 at least. Empty where it does not say both as whole numbers.
std::optional<int64_t> read_instance_scale(const compliance::EventLog& log);

// Sets what a folder of weak scaling has in place of a time to train.
void set_weak_score(Score& score);

}  // namespace strata::results
