// Adds the gathers of sharded weights to a schedule.
#pragma once

#include <span>
#include <vector>

#include "base/range.h"
#include "bert/parameters/parameters.h"
#include "training/schedules/schedule.h"

namespace strata::training {

// Returns, for each block in forward order, the index of the gather group that holds its weights.
// `layout` is the model's, `gather_groups` are ranges of its arena.
std::vector<int> gather_groups_of_blocks(const bert::ParameterLayout& layout,
                                         std::span<const Range> gather_groups);

// Returns `schedule` with tasks that gather weights. The weights of the next group are gathered
// before the first task that reads the current group's, unless they are still in memory.
// `gather_groups`: see Schedule. In layer order a step gathers these groups once: the first, the
// last, and the two that are in the slots when backward begins. It gathers all others twice.
Schedule with_gathers(const Schedule& schedule, const std::vector<int>& gather_groups);

}  // namespace strata::training
