// Orders of work for sharded weights.
#pragma once

#include <span>
#include <vector>

#include "base/range.h"
#include "bert/parameters/parameters.h"
#include "training/schedules/schedule.h"

namespace strata::training {

// Of each block of a model laid out like this, in the order of forward, the index in `units`, runs
// of the arena, of the one with its weights.
std::vector<int> units_of_blocks(const bert::ParameterLayout& layout, std::span<const Range> units);

// `schedule`, with a task that gathers the weights of every unit before their use, and ahead of it:
// as soon as the unit used before is there. `units`: of every block, as Schedule has them. Weights
// that are still in memory are not gathered again: in layer order, units between the first and the
// last are gathered twice a step, but for the two where forward turns back; the first and the last,
// once.
Schedule with_gathers(const Schedule& schedule, const std::vector<int>& units);

}  // namespace strata::training
