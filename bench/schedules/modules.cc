#include "bench/schedules/modules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/numbers/statistics.h"
#include "bench/schedules/closed_forms.h"
#include "bench/step/synthetic_training.h"
#include "training/factories/buckets.h"

namespace strata::bench {
namespace {

config::RunConfig with(config::RunConfig config, int modules, bool delayed) {
  config.parallel.stages = 1;
  config.optimizer.sharded = config::Sharding::kNone;
  config.batch.accumulation_order = config::AccumulationOrder::kMicroBatch;
  config.batch.activations = config::ActivationPolicy::kKeep;
  config.batch.gradient_accumulation_steps = 1;
  config.reduce.split_tied_embedding = false;
  config.reduce.half_layers = false;
  config.ouroboros.modules = modules;
  config.ouroboros.warmup_steps = delayed ? 0 : config::kNeverDelayed;
  return config;
}

std::string name_of(int modules, bool delayed) {
  return fmt::format("{} modules, {}", modules, delayed ? "delayed" : "without delay");
}

// Runs the steps of one schedule.
class MeasuredModules {
 public:
  MeasuredModules(const SectionSetup& setup, const config::RunConfig& config, bool delayed,
                  int batches)
      : setup_(setup),
        config_(config),
        training_(config, {setup.options.micro_batch_tokens}, batches, setup.network,
                  setup.make_device()),
        buckets_(training_.make_buckets(training_.replicas(),
                                        training::bucket_options(config, training_.model()))),
        result_{.name = name_of(config.ouroboros.modules, delayed), .delayed = delayed} {}

  const std::string& name() const { return result_.name; }

  void step(size_t batch, bool measured, training::Timeline* timeline) {
    const int64_t before = message_bytes_sent(setup_.ranks);
    const SyntheticTraining::Step step = training_.timed_step(batch, *buckets_, timeline);
    sent_ = message_bytes_sent(setup_.ranks) - before;
    tokens_ = training_.rounded_tokens(batch);
    if (!measured) return;
    const auto of_ranks = [&](double value) { return of_all_ranks(setup_.ranks, value); };
    const ModuleSeconds seconds{of_ranks(step.compute.forward), of_ranks(step.compute.backward)};
    steps_.push_back(std::ranges::max(of_ranks(step.seconds)));
    spans_.push_back(std::ranges::max(of_ranks(step.seconds - step.reduce.wait_seconds)));
    formulas_.push_back(ring_seconds(seconds, result_.delayed));
    forward_.push_back(sum(seconds.forward));
    backward_.push_back(sum(seconds.backward));
    longest_backward_.push_back(std::ranges::max(seconds.backward));
    waiting_.push_back(sum(of_ranks(step.compute.waiting)) / setup_.ranks.size());
  }

  ModulesMeasurement result() {
    bert::Model& model = training_.model();
    ModulesMeasurement result = result_;
    result.step = median(steps_);
    result.forward = median(forward_);
    result.backward = median(backward_);
    result.longest_backward = median(longest_backward_);
    result.waiting = median(waiting_);
    result.span = {median(spans_), median(formulas_)};
    result.message_bytes = sum_over_ranks(setup_.ranks, sent_);
    result.message_bytes_formula = 2 * (config_.ouroboros.modules - 1) * tokens_ *
                                   model.config().hidden_size *
                                   static_cast<int64_t>(size_of(model.backend().compute_dtype()));
    result.activations = activations_of_all_ranks(setup_.ranks, model);
    result.stash_bytes = sum_over_ranks(setup_.ranks, model.stash_bytes());
    return result;
  }

 private:
  const SectionSetup& setup_;
  config::RunConfig config_;
  SyntheticTraining training_;
  std::unique_ptr<comm::GradientBuckets> buckets_;
  ModulesMeasurement result_;
  std::vector<double> steps_, spans_, formulas_, forward_, backward_, longest_backward_, waiting_;
  int64_t sent_ = 0, tokens_ = 0;  // the last step's
};

}  // namespace

Modules measure_modules(const SectionSetup& setup) {
  const ScheduleOptions& options = setup.options;
  const int modules = setup.ranks.size() + 1;
  Modules result;
  for (const bool delayed : {false, true}) {
    const config::RunConfig config = with(setup.config, modules, delayed);
    if (const auto reason = reason_to_skip(config, setup.ranks.size())) {
      result.skipped.push_back({name_of(modules, delayed), *reason});
      continue;
    }
    // The first steps until every module runs backward are not measured.
    const int unmeasured = kUnmeasuredSteps + (delayed ? modules - 1 : 0);
    const int steps = unmeasured + options.steps;
    MeasuredModules measured(setup, config, delayed, steps);
    for (int i = 0; i < steps; ++i) {
      const bool last = i + 1 == steps;
      const auto begin = Clock::now();
      measured.step(static_cast<size_t>(i), i >= unmeasured, last ? &setup.timeline : nullptr);
      if (last) {
        setup.timeline.add_step(measured.name(), begin, Clock::now());
      }
    }
    result.orders.push_back(measured.result());
    if (options.progress) options.progress("modules", result.orders.size(), 2);
  }
  return result;
}

}  // namespace strata::bench
