#include "training/schedules/ouroboros.h"

#include <algorithm>
#include <ranges>

#include "base/range.h"
#include "training/schedules/pipeline.h"

namespace strata::training {
namespace {

using enum Task::Kind;

// The blocks of each of this rank's modules, in the order of forward.
std::vector<Range> own_modules(const bert::Stage& stage, int blocks) {
  std::vector<Range> modules;
  int last = -1;
  for (int block = 0; block < blocks; ++block) {
    if (!stage.has_block(block, blocks)) continue;
    const int module = stage.module_of_block(block, blocks);
    if (module != last) modules.push_back({block, block});
    ++modules.back().end;
    last = module;
  }
  return modules;
}

}  // namespace

Schedule ouroboros(const bert::Stage& stage, int blocks) {
  Schedule schedule{
      .name = "ouroboros", .stage = stage, .blocks = blocks, .micro_batches = 1, .in_flight = 1};
  const auto other = [&](int64_t block) {  // whether another stage has the block
    return block >= 0 && block < blocks && !stage.has_block(static_cast<int>(block), blocks);
  };
  for (int block = 0; block < blocks; ++block) {
    const int delay = stage.count - stage.module_of_block(block, blocks);  // K - k
    schedule.delays.push_back(delay);
    if (!other(block)) schedule.in_flight = std::max(schedule.in_flight, delay + 1);
  }
  const auto add = [&](Task::Kind kind, int64_t block) {
    schedule.tasks.push_back({kind, static_cast<int>(block), 0});
  };
  const std::vector<Range> modules = own_modules(stage, blocks);
  for (const auto& [begin, end] : modules) {
    if (other(begin - 1)) add(kReceiveInput, begin);
    for (int64_t block = begin; block < end; ++block) add(kForward, block);
    if (other(end)) add(kSendOutput, end - 1);
  }
  for (const auto& [begin, end] : modules) {
    if (other(end)) add(kReceiveGradient, end - 1);
  }
  for (const auto& [begin, end] : modules | std::views::reverse) {
    for (int64_t block = end - 1; block >= begin; --block) {
      add(kBackward, block);
      if (schedule.delays[static_cast<size_t>(block)] > 0) add(kStash, block);
      if (block == begin && other(begin - 1)) add(kSendGradient, begin);
      add(kReady, block);
    }
  }
  add(kUpdate, 0);
  return schedule;
}

Schedule undelayed(const bert::Stage& stage, int blocks) {
  return pipeline(stage, blocks, 1, false);
}

}  // namespace strata::training
