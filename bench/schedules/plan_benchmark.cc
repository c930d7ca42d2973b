#include "bench/schedules/plan_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/numbers/statistics.h"
#include "base/timing.h"
#include "bench/simulation/job_simulation.h"
#include "bench/step/synthetic_training.h"
#include "comm/emulated/slow_link.h"
#include "config/run_config_names.h"
#include "plan/model_shape.h"
#include "training/factories/backend.h"
#include "training/factories/buckets.h"
#include "training/factories/model.h"

namespace strata::bench {
namespace {

using config::AccumulationOrder;
using config::ActivationPolicy;
using config::ClipMode;
using config::RunConfig;
using config::Sharding;

struct Case {
  std::string name;
  RunConfig config;
};

RunConfig plain(RunConfig config, int micro_batches) {
  config.batch.gradient_accumulation_steps = micro_batches;
  config.batch.accumulation_order = AccumulationOrder::kMicroBatch;
  config.batch.activations = ActivationPolicy::kKeep;
  config.parallel.stages = 1;
  config.optimizer.sharded = Sharding::kNone;
  config.reduce.split_tied_embedding = false;
  config.reduce.half_layers = false;
  config.ouroboros.modules = 1;
  return config;
}

// Returns every schedule. With one micro-batch, layer order equals micro-batch order.
std::vector<Case> schedules(const RunConfig& configured, int ranks, int micro_batches) {
  const RunConfig base = plain(configured, micro_batches);
  std::vector<Case> cases;
  const auto add = [&](const std::string& name, const auto& change) {
    cases.push_back({name, base});
    change(cases.back().config);
  };
  for (const auto order : {AccumulationOrder::kMicroBatch, AccumulationOrder::kLayer}) {
    if (micro_batches == 1 && order == AccumulationOrder::kLayer) continue;
    const std::string name = config::name_of(order);
    const auto in_order = [&](const std::string& what, const auto& change) {
      add(name + what, [&](RunConfig& config) {
        config.batch.accumulation_order = order;
        change(config);
      });
    };
    in_order("", [](RunConfig&) {});
    in_order(", recompute",
             [](RunConfig& config) { config.batch.activations = ActivationPolicy::kRecompute; });
    in_order(", tied-embedding split",
             [](RunConfig& config) { config.reduce.split_tied_embedding = true; });
    for (const Sharding sharded : {Sharding::kState, Sharding::kGradients, Sharding::kAll}) {
      in_order(fmt::format(", sharded {}", config::name_of(sharded)),
               [&](RunConfig& config) { config.optimizer.sharded = sharded; });
    }
  }
  for (int stages = 2; stages <= ranks; ++stages) {
    if (ranks % stages != 0) continue;
    for (const auto pipeline : {bert::Pipeline::kContiguous, bert::Pipeline::kModular}) {
      add(fmt::format("{}, {} stages", config::name_of(pipeline), stages), [&](RunConfig& config) {
        config.parallel.stages = stages;
        config.parallel.pipeline = pipeline;
      });
    }
  }
  for (const bool delayed : {false, true}) {
    if (micro_batches > 1 || ranks == 1) break;
    add(fmt::format("{} modules, {}", ranks + 1, delayed ? "delayed" : "without delay"),
        [&](RunConfig& config) {
          config.ouroboros.modules = ranks + 1;
          config.ouroboros.warmup_steps = delayed ? 0 : config::kNeverDelayed;
        });
  }
  return cases;
}

// Returns the planner's enumerator of the same name.
plan::Sharding planned(Sharding sharding) {
  static_assert(static_cast<int>(plan::Sharding::kAll) == static_cast<int>(Sharding::kAll));
  return static_cast<plan::Sharding>(sharding);
}
plan::Clip planned(ClipMode mode) {
  static_assert(static_cast<int>(plan::Clip::kBucketBeforeAllReduce) ==
                static_cast<int>(ClipMode::kBucketBeforeAllReduce));
  return static_cast<plan::Clip>(mode);
}

plan::Layout layout_of(const RunConfig& config) {
  return {.stages = config.parallel.stages,
          .modular = config.parallel.pipeline == bert::Pipeline::kModular,
          .micro_batches = config.batch.gradient_accumulation_steps,
          .order = config.batch.accumulation_order == AccumulationOrder::kLayer
                       ? plan::Order::kLayer
                       : plan::Order::kMicroBatch,
          .sharding = planned(config.optimizer.sharded),
          .clip = planned(config.clip.mode),
          .recompute = config.batch.activations == ActivationPolicy::kRecompute,
          .split_tied_embedding = config.reduce.split_tied_embedding,
          .modules = config.ouroboros.modules,
          .delayed = config.ouroboros.modules > 1 && config.ouroboros.warmup_steps == 0};
}

// Returns the steps before the measured ones. Delayed backward needs some more.
int unmeasured_steps(const RunConfig& config) {
  return kUnmeasuredSteps + (layout_of(config).delayed ? config.ouroboros.modules - 1 : 0);
}

struct Timed {
  double step = 0, backward = 0;
  std::string device;
};

class Measurement {
 public:
  Measurement(const RunConfig& config, const PlanBenchmarkOptions& options,
              const training::Ranks& ranks)
      : config_(config),
        options_(options),
        ranks_(ranks),
        model_(training::make_bert_config(config)) {}

  PlanBenchmark run();

 private:
  Timed measure(const RunConfig& config, const training::Ranks& ranks, int64_t tokens,
                int steps) const;
  void calibrate();
  void measure_on(int ranks);
  // One rank sends nothing, whatever the speed.
  std::span<const double> speeds_of(int ranks) const {
    return std::span(speeds_).first(ranks == 1 ? 1 : speeds_.size());
  }
  std::vector<Case> cases_of(int ranks, int micro_batches);
  // The sequences of a micro-batch in a step, measured or not.
  std::vector<int32_t> lengths_in(int step) const {
    return micro_batch_lengths(config_, {options_.micro_batch_tokens}, model_,
                               static_cast<uint64_t>(step));
  }
  double flops_in(int step) const;
  void measure_messages();
  double simulated(const RunConfig& config, int ranks, double bytes_per_second) const;

  const RunConfig& config_;
  const PlanBenchmarkOptions& options_;
  const training::Ranks& ranks_;
  PlanBenchmark result_;
  bert::BertConfig model_;
  std::vector<double> speeds_;
  double calibrated_flops_ = 0;  // median of the calibrated steps
  std::set<std::string> skipped_;
  size_t done_ = 0, total_ = 0;
};

Timed Measurement::measure(const RunConfig& config, const training::Ranks& ranks, int64_t tokens,
                           int steps) const {
  const int unmeasured = unmeasured_steps(config);
  SyntheticTraining training(config, {tokens}, steps + unmeasured, ranks,
                             device_asleep(options_.sleeping_flops));
  const auto buckets = training.make_buckets(training.replicas(),
                                             training::bucket_options(config, training.model()));
  std::vector<double> seconds, backward;
  for (int i = 0; i < steps + unmeasured; ++i) {
    const auto step = training.timed_step(static_cast<size_t>(i), *buckets);
    const double slowest_rank = slowest(ranks, step.seconds);
    if (i < unmeasured) continue;
    seconds.push_back(slowest_rank);
    backward.push_back(step.compute.last_backward);
  }
  return {median(seconds), median(backward), training.backend().description()};
}

// Runs on rank 0 while the others wait for its figures.
void Measurement::calibrate() {
  const auto single_rank = comm::make_single_communicator();
  const training::Ranks one{*single_rank, ranks_.local};
  constexpr int kTimes = 5, kLess = 3;
  double backward = 0;
  for (const int64_t tokens : {options_.micro_batch_tokens, options_.micro_batch_tokens / kLess}) {
    double figures[2] = {};
    if (ranks_.first()) {
      const Timed timed = measure(plain(config_, 1), one, tokens, kTimes * options_.steps);
      figures[0] = timed.step;
      figures[1] = timed.backward;
      result_.device = timed.device;
    }
    ranks_.communicator.all_reduce_sum(figures, 2, device::DType::kF64);
    if (tokens == options_.micro_batch_tokens) backward = figures[1];
    result_.calibrated.push_back({.name = fmt::format("one rank, {} tokens", tokens),
                                  .batch = static_cast<double>(tokens) / kSampleTokens,
                                  .seconds = figures[0]});
  }
  result_.calibration = plan::calibrate(result_.calibrated);
  std::vector<double> flops;
  for (int step = 0; step < kTimes * options_.steps; ++step) {
    flops.push_back(flops_in(kUnmeasuredSteps + step));
  }
  calibrated_flops_ = median(flops);
  speeds_ = options_.speeds;
  if (!speeds_.empty()) return;
  // Two ranks send all gradients once each.
  const double bytes = result_.shape.parameters * result_.shape.gradient_bytes;
  for (const double share : {2.0, 1.0, 0.1}) speeds_.push_back(bytes / (share * backward));
}

// Returns the cases that configurations allow. Notes every other case once.
std::vector<Case> Measurement::cases_of(int ranks, int micro_batches) {
  std::vector<Case> allowed;
  for (Case& each : schedules(config_, ranks, micro_batches)) {
    for (const auto& mode : config::choices_of<ClipMode>()) {
      each.config.clip.mode = mode.value;
      const auto reason = reason_to_skip(each.config, ranks);
      if (!reason) {
        allowed.push_back(each);
        continue;
      }
      const std::string name = fmt::format("{}, clip {}", each.name, mode.name);
      if (skipped_.insert(name + *reason).second) {
        result_.skipped.push_back({name, *reason});
      }
    }
  }
  return allowed;
}

double Measurement::flops_in(int step) const {
  return block_flops(model_, lengths_in(step)).all(model_);
}

// Sends a micro-batch's message back and forth between ranks that work and wait in turns, as
// pipeline stages do.
void Measurement::measure_messages() {
  constexpr int kTimes = 30;
  constexpr double kFast = 1e15;
  constexpr std::chrono::milliseconds kWork(3);
  const auto link = comm::make_slow_link(ranks_.communicator.duplicate(), {kFast, 0});
  const auto messages = link->make_messages();
  std::vector<char> data(static_cast<size_t>(static_cast<double>(options_.micro_batch_tokens) *
                                             static_cast<double>(model_.hidden_size) *
                                             result_.shape.compute_bytes));
  const auto send = [&](int to) { messages->wait(messages->send(data.data(), data.size(), to)); };
  const auto receive = [&](int from) {
    messages->wait(messages->receive(data.data(), data.size(), from));
  };
  std::vector<double> seconds;
  for (int i = 0; i < kTimes && ranks_.rank() < 2; ++i) {
    const auto begin = Clock::now();
    if (ranks_.first()) {
      std::this_thread::sleep_until(begin + kWork);
      send(1);
      receive(1);
      seconds.push_back((seconds_since(begin) - 2 * std::chrono::duration<double>(kWork).count()) /
                        2);
    } else {
      receive(0);
      std::this_thread::sleep_until(Clock::now() + kWork);
      send(0);
    }
  }
  double& result = result_.message_seconds;
  result = ranks_.first() ? median(seconds) : 0;
  ranks_.communicator.all_reduce_sum(&result, 1, device::DType::kF64);
}

// The calibrated step gives the speed of a simulated rank, apart from the step's constant.
double Measurement::simulated(const RunConfig& config, int ranks, double bytes_per_second) const {
  RunConfig on_threads = config;
  on_threads.device.backend = &device::find_backend("cpu");  // as the emulated network needs
  const double constant = result_.calibration.costs.per_step;
  JobInput input{.config = on_threads,
                 .model = model_,
                 .ranks = ranks,
                 .compute_bytes = static_cast<int64_t>(result_.shape.compute_bytes),
                 .device = {.flops_per_second =
                                calibrated_flops_ / (result_.calibrated.front().seconds - constant),
                            .step_seconds = constant,
                            .message_seconds = result_.message_seconds},
                 .network = plan::flat_network({0, bytes_per_second})};
  std::vector<double> steps;
  for (int step = 0; step < options_.steps; ++step) {
    input.lengths = lengths_in(unmeasured_steps(config) + step);
    steps.push_back(simulate_job(input).step);
  }
  return median(steps);
}

void Measurement::measure_on(int count) {
  const bool needed = ranks_.rank() < count;
  const auto part = ranks_.communicator.split(needed ? 0 : 1);
  for (const int micro_batches : options_.micro_batches) {
    for (const Case& each : cases_of(count, micro_batches)) {
      for (const double speed : speeds_of(count)) {
        double seconds = 0;
        if (needed) {
          const auto network = comm::make_slow_link(part->duplicate(), {speed, 0});
          const training::Ranks ranks{*network, {ranks_.rank(), count, ranks_.local.affinities}};
          seconds = measure(each.config, ranks, options_.micro_batch_tokens, options_.steps).step;
        }
        const plan::StepInput input{.ranks = count,
                                    .nodes = count,
                                    .batch = result_.calibrated.front().batch * micro_batches *
                                             count / each.config.parallel.stages /
                                             (each.config.ouroboros.modules > 1 ? count : 1),
                                    .network = plan::flat_network({0, speed}),
                                    .layout = layout_of(each.config)};
        result_.steps.push_back(
            {.name = each.name,
             .ranks = count,
             .micro_batches = micro_batches,
             .clip = each.config.clip.mode,
             .bytes_per_second = speed,
             .measured = seconds,
             .predicted = plan::predict_step(result_.calibration, result_.shape, input),
             .simulated = ranks_.first() ? simulated(each.config, count, speed) : 0});
        if (options_.progress) options_.progress(++done_, total_);
      }
    }
  }
  ranks_.communicator.barrier();
}

PlanBenchmark Measurement::run() {
  const bert::BertConfig& bert = model_;
  result_.micro_batch_tokens = options_.micro_batch_tokens;
  result_.shape = plan::shape_of({.layers = bert.layers,
                                  .hidden = bert.hidden_size,
                                  .intermediate = bert.intermediate_size,
                                  .heads = bert.heads,
                                  .vocabulary = bert.vocab_size,
                                  .positions = bert.max_positions});
  result_.shape.mean_tokens = kSampleTokens;
  result_.shape.gradient_bytes =
      static_cast<double>(size_of(training::bucket_options(config_).reduce_dtype));
  auto device = device_asleep(options_.sleeping_flops);
  if (!device) device = training::make_backend(config_, ranks_.local);
  if (device->has_collectives()) {
    fail(
        "device.backend={}: this backend has its own collectives, for which a slow link cannot be "
        "emulated; use device.backend cpu",
        device->name());
  }
  result_.shape.compute_bytes = static_cast<double>(size_of(device->compute_dtype()));
  calibrate();
  measure_messages();

  std::vector<int> numbers = options_.ranks;
  if (numbers.empty()) {
    numbers.resize(static_cast<size_t>(ranks_.size()));
    std::iota(numbers.begin(), numbers.end(), 1);
  }
  for (const int count : numbers) {
    if (count < 1 || count > ranks_.size()) {
      fail("--ranks {}: give numbers from 1 to {}, the ranks of this job", count, ranks_.size());
    }
    for (const int micro_batches : options_.micro_batches) {
      total_ += cases_of(count, micro_batches).size() * speeds_of(count).size();
    }
  }
  for (const int count : numbers) measure_on(count);
  return std::move(result_);
}

}  // namespace

PlanDeviation deviation_of(const std::vector<PlannedStep>& steps,
                           double (PlannedStep::*error)() const) {
  if (steps.empty()) return {};
  std::vector<double> errors;
  for (const PlannedStep& step : steps) errors.push_back(std::abs((step.*error)()));
  return {median(errors), *std::ranges::max_element(errors)};
}

PlanBenchmark benchmark_plan(const RunConfig& config, const PlanBenchmarkOptions& options,
                             const training::Ranks& ranks) {
  if (ranks.size() == 1) {
    fail(
        "a single rank has no communication; start several ranks: scripts/mpirun.sh -n 4 strata "
        "bench plan ...");
  }
  return Measurement(config, options, ranks).run();
}

}  // namespace strata::bench
