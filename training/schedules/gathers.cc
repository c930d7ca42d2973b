#include "training/schedules/gathers.h"

#include <algorithm>

namespace strata::training {

std::vector<int> units_of_blocks(const bert::ParameterLayout& layout,
                                 std::span<const Range> units) {
  std::vector<int> of_blocks;
  // The arena has the blocks in the order of backward.
  for (size_t group = layout.groups.size(); group-- > 0;) {
    const auto unit = std::ranges::find_if(
        units, [&](const Range& range) { return layout.boundaries[group] < range.end; });
    of_blocks.push_back(static_cast<int>(unit - units.begin()));
  }
  return of_blocks;
}

Schedule with_gathers(const Schedule& schedule, const std::vector<int>& units) {
  Schedule gathered = schedule;
  gathered.units = units;
  gathered.tasks.clear();
  UnitsInMemory in_memory(units);
  const auto ensure = [&](int block, int micro_batch) {
    if (in_memory.has(block)) return;
    in_memory.gather(block);
    gathered.tasks.push_back({Task::Kind::kGather, block, micro_batch});
  };
  const auto unit_of = [&](const Task& task) { return units[static_cast<size_t>(task.block)]; };
  for (size_t i = 0; i < schedule.tasks.size(); ++i) {
    const Task& task = schedule.tasks[i];
    if (reads_weights(task)) {
      ensure(task.block, task.micro_batch);
      for (size_t next = i + 1; next < schedule.tasks.size(); ++next) {
        const Task& ahead = schedule.tasks[next];
        if (!reads_weights(ahead) || unit_of(ahead) == unit_of(task)) continue;
        ensure(ahead.block, task.micro_batch);
        break;
      }
    }
    gathered.tasks.push_back(task);
  }
  return gathered;
}

}  // namespace strata::training
