#include "training/schedules/micro_batch_order.h"

namespace strata::training {

Schedule micro_batch_order(int blocks, int micro_batches, bool recompute) {
  Schedule schedule{.name = "micro_batch_order",
                    .blocks = blocks,
                    .micro_batches = micro_batches,
                    .recomputes = recompute};
  std::vector<Task>& tasks = schedule.tasks;
  const int heads = blocks - 1, last = micro_batches - 1;
  for (int micro_batch = 0; micro_batch < micro_batches; ++micro_batch) {
    for (int block = 0; block < blocks; ++block) {
      tasks.push_back({Task::Kind::kForward, block, micro_batch});
    }
    for (int block = heads; block >= 0; --block) {
      if (recompute && block != heads) {
        tasks.push_back({Task::Kind::kRecompute, block, micro_batch});
      }
      tasks.push_back({Task::Kind::kBackward, block, micro_batch});
      if (micro_batch == last) tasks.push_back({Task::Kind::kReady, block, micro_batch});
    }
  }
  tasks.push_back({Task::Kind::kUpdate, 0, last});
  return schedule;
}

}  // namespace strata::training
