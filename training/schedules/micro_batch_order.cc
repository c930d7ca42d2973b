#include "training/schedules/micro_batch_order.h"

namespace strata::training {

namespace {

Schedule make(const char* name, int blocks, int micro_batches, bool recompute, int rounds) {
  Schedule schedule{.name = name,
                    .blocks = blocks,
                    .micro_batches = micro_batches,
                    .recomputes = recompute,
                    .rounds = rounds};
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
      if (micro_batch == last || rounds > 1)
        tasks.push_back({Task::Kind::kReady, block, micro_batch});
    }
  }
  tasks.push_back({Task::Kind::kUpdate, 0, last});
  return schedule;
}

}  // namespace

Schedule micro_batch_order(int blocks, int micro_batches, bool recompute) {
  return make("micro_batch_order", blocks, micro_batches, recompute, 1);
}

Schedule micro_batch_rounds(int blocks, int micro_batches, bool recompute) {
  return make("micro_batch_rounds", blocks, micro_batches, recompute, micro_batches);
}

}  // namespace strata::training
