#include "training/schedules/explanation.h"

#include "base/error.h"
#include "comm/buckets/bucket_readiness.h"

namespace strata::training {

std::vector<ExplainedTask> explain(const Schedule& schedule, const bert::ParameterLayout& layout,
                                   const std::vector<Range>& buckets, bool early_words) {
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
  std::vector<ExplainedTask> explained;
  for (const Task& task : schedule.tasks) {
    ExplainedTask& result = explained.emplace_back(task);
    if (task.kind == Task::Kind::kUpdate) continue;
    const size_t group = group_of[static_cast<size_t>(task.block)];
    result.block = groups[group];
    result.peer = peer_of(schedule, task);
    if (task.kind != Task::Kind::kReady) continue;
    result.gradients = layout.completes(group, early_words);
    for (const Range& range : result.gradients) readiness.mark_ready(range.begin, range.end, 0);
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
