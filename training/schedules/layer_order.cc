#include "training/schedules/layer_order.h"

namespace strata::training {

Schedule layer_order(int blocks, int micro_batches, bool recompute) {
  using enum Task::Kind;
  Schedule schedule{.name = "layer_order",
                    .blocks = blocks,
                    .micro_batches = micro_batches,
                    .in_flight = micro_batches,
                    .recomputes = recompute};
  std::vector<Task>& tasks = schedule.tasks;
  const int heads = blocks - 1, last = micro_batches - 1;
  for (int block = 0; block < heads; ++block) {
    for (int m = 0; m < micro_batches; ++m) tasks.push_back({kForward, block, m});
  }
  for (int m = 0; m < micro_batches; ++m) {
    tasks.push_back({kForward, heads, m});
    tasks.push_back({kBackward, heads, m});
  }
  tasks.push_back({kReady, heads, last});
  for (int block = heads - 1; block >= 0; --block) {
    for (int m = 0; m < micro_batches; ++m) {
      if (recompute) tasks.push_back({kRecompute, block, m});
      tasks.push_back({kBackward, block, m});
    }
    tasks.push_back({kReady, block, last});
  }
  tasks.push_back({kUpdate, 0, last});
  return schedule;
}

}  // namespace strata::training
