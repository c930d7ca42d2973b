// Adds the gathers of sharded weights to a schedule.
#pragma once

#include <span>
#include <vector>

#include "base/range.h"
#include "bert/parameters/parameters.h"
#include "training/schedules/schedule.h"

namespace strata::training {

// Returns, for each block of a model with this layout, in the order of forward, the index in
// `gather_groups` (ranges of the arena) of the gather group that holds its weights.
std::vector<int> gather_groups_of_blocks(const bert::ParameterLayout& layout,
                                         std::span<const Range> gather_groups);

// Returns `schedule` with tasks that gather every group's weights before their use, as soon as the
// weights of the group used before are in memory. `gather_groups`: see Schedule. Weights that are
// still in memory are not gathered again. In layer order the first and the last gather group are
// gathered once a step, the others twice, except the two at the turn from forward to backward.
Schedule with_gathers(const Schedule& schedule, const std::vector<int>& gather_groups);

}  // namespace strata::training
