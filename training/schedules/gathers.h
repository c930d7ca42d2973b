// Adds the gathers of sharded weights to a schedule.
#pragma once

#include <span>
#include <vector>

#include "base/range.h"
#include "bert/parameters/parameters.h"
#include "training/schedules/schedule.h"

namespace strata::training {

// Returns, for each block of a model with this layout, in the order of forward, the index in
// `units` (ranges of the arena) of the unit that holds its weights.
std::vector<int> units_of_blocks(const bert::ParameterLayout& layout, std::span<const Range> units);

// Returns `schedule` with tasks that gather every unit's weights before their use, as soon as the
// weights of the unit used before are in memory. `units`: see Schedule. Weights that are still in
// memory are not gathered again. In layer order the first and the last unit are gathered once a
// step, the others twice, except the two at the turn from forward to backward.
Schedule with_gathers(const Schedule& schedule, const std::vector<int>& units);

}  // namespace strata::training
