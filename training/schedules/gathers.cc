#include "training/schedules/gathers.h"

#include <algorithm>

namespace strata::training {

std::vector<int> gather_groups_of_blocks(const bert::ParameterLayout& layout,
                                         std::span<const Range> gather_groups) {
  std::vector<int> of_blocks;
  // The arena has the blocks in the order of backward.
  for (size_t group = layout.groups.size(); group-- > 0;) {
    const auto gather_group = std::ranges::find_if(
        gather_groups, [&](const Range& range) { return layout.boundaries[group] < range.end; });
    of_blocks.push_back(static_cast<int>(gather_group - gather_groups.begin()));
  }
  return of_blocks;
}

Schedule with_gathers(const Schedule& schedule, const std::vector<int>& gather_groups) {
  Schedule gathered = schedule;
  gathered.gather_groups = gather_groups;
  gathered.tasks.clear();
  GatherGroupsInMemory in_memory(gather_groups);
  const auto ensure = [&](int block, int micro_batch) {
    if (in_memory.has(block)) return;
    in_memory.gather(block);
    gathered.tasks.push_back({Task::Kind::kGather, block, micro_batch});
  };
  const auto gather_group_of = [&](const Task& task) {
    return gather_groups[static_cast<size_t>(task.block)];
  };
  for (size_t i = 0; i < schedule.tasks.size(); ++i) {
    const Task& task = schedule.tasks[i];
    if (reads_weights(task)) {
      ensure(task.block, task.micro_batch);
      for (size_t next = i + 1; next < schedule.tasks.size(); ++next) {
        const Task& ahead = schedule.tasks[next];
        if (!reads_weights(ahead) || gather_group_of(ahead) == gather_group_of(task)) continue;
        ensure(ahead.block, task.micro_batch);
        break;
      }
    }
    gathered.tasks.push_back(task);
  }
  return gathered;
}

}  // namespace strata::training
