#include "bench/schedules/sharding.h"

#include <fmt/format.h>
#include <malloc.h>

#include <charconv>
#include <numeric>

#include "base/error.h"
#include "base/files/files.h"
#include "bench/schedules/closed_forms.h"
#include "bench/step/synthetic_training.h"
#include "training/factories/buckets.h"

namespace strata::bench {
namespace {

using config::Sharding;

config::RunConfig with(config::RunConfig config, Sharding sharded,
                       config::AccumulationOrder order) {
  config.parallel.stages = 1;
  config.optimizer.sharded = sharded;
  config.batch.accumulation_order = order;
  config.reduce.split_tied_embedding = false;
  config.reduce.half_layers = false;
  return config;
}

std::string name_of(Sharding sharded, config::AccumulationOrder order) {
  return fmt::format("{}, {}", config::name_of(sharded), config::name_of(order));
}

// Returns this process's VmRSS without freed memory.
int64_t resident_bytes() {
  ::malloc_trim(0);
  const std::string status = read_file("/proc/self/status");
  constexpr std::string_view kKey = "VmRSS:";
  const size_t key = status.find(kKey);
  const size_t digit = status.find_first_of("0123456789", key);
  if (key == std::string::npos || digit == std::string::npos) {
    fail("/proc/self/status: has no VmRSS; memory cannot be measured here");
  }
  int64_t kibibytes = 0;
  std::from_chars(status.data() + digit, status.data() + status.size(), kibibytes);
  return kibibytes * 1024;
}

ShardingMeasurement measure(const SectionSetup& setup, const config::RunConfig& config) {
  const ScheduleOptions& options = setup.options;
  const training::Ranks& ranks = setup.ranks;
  const Sharding sharded = config.optimizer.sharded;
  const auto order = config.batch.accumulation_order;
  ShardingMeasurement result{.name = name_of(sharded, order), .sharded = sharded, .order = order};
  const int64_t resident_before = resident_bytes();
  const int steps = options.steps + kUnmeasuredSteps;
  SyntheticTraining training(config, {options.micro_batch_tokens}, steps, setup.network,
                             setup.make_device(true));
  const auto buckets = training.make_buckets(training.replicas(),
                                             training::bucket_options(config, training.model()));
  const comm::Traffic* traffic = ranks.communicator.traffic();
  const auto sent_so_far = [&] { return traffic ? traffic->bytes() : 0; };
  std::vector<double> seconds, communication;
  int64_t sent = 0;
  for (int i = 0; i < steps; ++i) {
    const bool last = i + 1 == steps;
    const auto begin = Clock::now();
    const int64_t sent_before = sent_so_far();
    const SyntheticTraining::Step step =
        training.timed_step(static_cast<size_t>(i), *buckets, last ? &setup.timeline : nullptr);
    sent = sent_so_far() - sent_before;
    if (last) setup.timeline.add_step(result.name, begin, Clock::now());
    if (i < kUnmeasuredSteps) continue;
    seconds.push_back(step.seconds);
    communication.push_back(step.reduce.communication_seconds);
  }
  const int64_t resident = resident_bytes() - resident_before;

  result.step = slowest(ranks, median(seconds));
  result.communication = slowest(ranks, median(communication));
  const ShardingForms forms(config, training.model(), ranks.size());
  result.bytes_sent = sum_over_ranks(ranks, sent);
  result.bytes_sent_formula = forms.bytes_sent();
  const training::ParameterMemory own = training.parameter_memory();
  result.memory = {.weights = sum_over_ranks(ranks, own.weights),
                   .gradients = sum_over_ranks(ranks, own.gradients),
                   .state = sum_over_ranks(ranks, own.state)};
  result.memory_formula = forms.memory();
  result.resident = {static_cast<double>(sum_over_ranks(ranks, resident)),
                     static_cast<double>(forms.memory().total()) +
                         ranks.size() * activation_bytes(training.model())};
  return result;
}

}  // namespace

ShardedOrders measure_sharding(const SectionSetup& setup) {
  ShardedOrders result;
  std::vector<config::RunConfig> configs;
  for (const auto order :
       {config::AccumulationOrder::kMicroBatch, config::AccumulationOrder::kLayer}) {
    for (const Sharding sharded :
         {Sharding::kNone, Sharding::kState, Sharding::kGradients, Sharding::kAll}) {
      const config::RunConfig config = with(setup.config, sharded, order);
      if (const auto reason = reason_to_skip(config, setup.ranks.size())) {
        result.skipped.push_back({name_of(sharded, order), *reason});
      } else {
        configs.push_back(config);
      }
    }
  }
  for (const config::RunConfig& config : configs) {
    result.orders.push_back(measure(setup, config));
    if (setup.options.progress) {
      setup.options.progress("sharding", result.orders.size(), configs.size());
    }
  }
  return result;
}

}  // namespace strata::bench
