#include "bench/schedules/schedule_benchmark.h"

#include <algorithm>

#include "base/error.h"
#include "training/factories/backend.h"
#include "training/trace/timeline.h"

namespace strata::bench {

ScheduleBenchmark benchmark_schedules(const config::RunConfig& config,
                                      const ScheduleOptions& options,
                                      const training::Ranks& ranks) {
  if (ranks.size() == 1) {
    fail(
        "a single rank has no communication; start several ranks: scripts/mpirun.sh -n 2 strata "
        "bench schedule ...");
  }
  const auto communicator =
      options.link ? comm::make_slow_link(ranks.communicator.duplicate(), *options.link)
                   : ranks.communicator.duplicate();
  const training::Ranks network{*communicator, ranks.local};
  training::Timeline timeline(ranks.communicator);
  const SectionSetup setup{config, options, ranks, network, timeline};
  ScheduleBenchmark result{.ranks = ranks.size(),
                           .micro_batches = config.batch.gradient_accumulation_steps,
                           .micro_batch_tokens = options.micro_batch_tokens,
                           .micro_batch_sequences = config.batch.micro_batch,
                           .link = options.link};
  {
    auto device = setup.make_device();
    if (!device) device = training::make_backend(config, ranks.local);
    if (options.link && device->has_collectives()) {
      fail(
          "device.backend={}: this backend has its own collectives, for which a slow link cannot "
          "be emulated; use --real-network",
          device->name());
    }
    result.device = device->description();
  }
  const auto asked = [&](Section section) {
    return std::ranges::find(options.only, section) != options.only.end();
  };
  if (asked(Section::kDataParallel)) result.data_parallel = measure_data_parallel(setup);
  if (asked(Section::kPipelines)) result.pipelines = measure_pipelines(setup);
  if (asked(Section::kSharding)) result.sharding = measure_sharding(setup);
  if (asked(Section::kModules)) result.modules = measure_modules(setup);
  if (!options.timeline.empty()) timeline.write(options.timeline);
  return result;
}

}  // namespace strata::bench
