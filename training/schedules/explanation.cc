#include "training/schedules/explanation.h"

#include <algorithm>
#include <span>

#include "base/error.h"
#include "comm/buckets/bucket_readiness.h"

namespace strata::training {

std::vector<ExplainedTask> explain(const Schedule& schedule, const bert::ParameterLayout& layout,
                                   const std::vector<Range>& buckets, bool early_words,
                                   bool half_layers) {
  // The arena has the blocks in the order of backward.
  const std::vector<std::string>& groups = layout.groups;
  std::vector<size_t> group_of(static_cast<size_t>(schedule.blocks));
  size_t own = 0;
  for (int block = schedule.blocks - 1; block >= 0; --block) {
    group_of[static_cast<size_t>(block)] = own;
    own += schedule.stage.has_block(block, schedule.blocks);
  }
  if (groups.size() != own) {
    fail("schedule {}: is for {} blocks, the model has {}", schedule.name, own, groups.size());
  }
  comm::BucketReadiness readiness(buckets, schedule.rounds);
  std::vector<int> known(buckets.size());  // rounds of each
  const std::vector<int64_t> pauses =
      half_layers ? layout.boundaries_with_halves() : layout.boundaries;
  // The first of a block's gradients that are ready, where they are before its backward ends.
  const auto half_of = [&](size_t group) -> Range {
    const int64_t begin = layout.boundaries[group];
    const int64_t pause = *std::ranges::upper_bound(pauses, begin);
    return {begin, pause < layout.boundaries[group + 1] ? pause : begin};
  };
  std::vector<ExplainedTask> explained;
  const auto mark_ready = [&](ExplainedTask& result, const Range& range) {
    if (range.size() == 0) return;
    result.gradients.push_back(range);
    readiness.mark_ready(range.begin, range.end, [](int, int) {});
  };
  for (size_t i = 0; i < schedule.tasks.size(); ++i) {
    const Task& task = schedule.tasks[i];
    ExplainedTask& result = explained.emplace_back(task);
    if (task.kind == Task::Kind::kUpdate) continue;
    const size_t group = group_of[static_cast<size_t>(task.block)];
    result.block = groups[group];
    result.peer = peer_of(schedule, task);
    const Range half = half_of(group);
    if (completes(std::span(schedule.tasks).subspan(i))) {
      mark_ready(result, half);
    } else if (task.kind == Task::Kind::kReady) {
      for (const Range& range : layout.completes(group, early_words)) {
        mark_ready(result, {range.begin == half.begin ? half.end : range.begin, range.end});
      }
    }
    for (size_t bucket = 0; bucket < buckets.size(); ++bucket) {
      const int rounds = readiness.rounds_of(static_cast<int>(bucket));
      if (rounds == known[bucket]) continue;
      known[bucket] = rounds;
      result.buckets.push_back(static_cast<int>(bucket));
    }
  }
  return explained;
}

}  // namespace strata::training
