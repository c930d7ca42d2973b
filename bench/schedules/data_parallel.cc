#include "bench/schedules/data_parallel.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/numbers/statistics.h"
#include "bench/schedules/closed_forms.h"
#include "bench/step/synthetic_training.h"
#include "training/factories/buckets.h"
#include "training/factories/schedule.h"
#include "training/schedules/step_list.h"

namespace strata::bench {
namespace {

using config::AccumulationOrder;
using config::ActivationPolicy;

struct Order {
  AccumulationOrder accumulation;
  ActivationPolicy activations;
  bool split_tied_embedding = false;
};

std::vector<Order> all_orders() {
  std::vector<Order> orders;
  for (const auto accumulation : {AccumulationOrder::kMicroBatch, AccumulationOrder::kLayer}) {
    orders.push_back({accumulation, ActivationPolicy::kKeep});
    orders.push_back({accumulation, ActivationPolicy::kRecompute});
    orders.push_back({accumulation, ActivationPolicy::kKeep, true});
  }
  return orders;
}

config::RunConfig with(config::RunConfig config, const Order& order) {
  config.parallel.stages = 1;
  config.optimizer.sharded = config::Sharding::kNone;
  config.batch.accumulation_order = order.accumulation;
  config.batch.activations = order.activations;
  config.reduce.split_tied_embedding = order.split_tied_embedding;
  return config;
}

std::string name_of(const Order& order) {
  const bool recompute = order.activations == ActivationPolicy::kRecompute;
  return std::string(config::name_of(order.accumulation)) + (recompute ? ", recompute" : "") +
         (order.split_tied_embedding ? ", tied-embedding split" : "");
}

// Returns the share of attention, which comes halfway through a block's backward, in the backward
// that hides communication. It is a third of the last micro-batch's backward, without scores.
// Recomputed blocks first run forward, which takes half as long as backward.
double attention_share(const training::Schedule& schedule, bool layered) {
  const double of_micro_batch = schedule.recomputes ? 2.0 / 9 : 1.0 / 3;
  return layered ? of_micro_batch / schedule.micro_batches : of_micro_batch;
}

// Returns the block that completes each bucket. A bucket that is ready halfway through a block's
// backward counts attention's share before the block's end.
std::vector<double> ready_blocks(const training::Schedule& schedule, double attention,
                                 const bert::ParameterLayout& layout,
                                 const comm::BucketPlan& buckets, bool tied_rows,
                                 bool half_layers) {
  const training::StepPlan plan =
      training::make_step_plan(schedule, layout, tied_rows, half_layers);
  const comm::OperationList operations = training::make_step_list(plan, buckets).operations;
  std::vector<double> blocks;
  for (const int place : training::ready_operations(operations, buckets.count())) {
    const comm::Operation& ready = operations[place];
    const bool halfway = ready.kind == training::Task::Kind::kBackwardHalf;
    blocks.push_back(ready.object + (halfway ? attention : 0));
  }
  return blocks;
}

// Runs the steps of one schedule, with and without communication.
class MeasuredOrder {
 public:
  MeasuredOrder(const SectionSetup& setup, const Order& order, int batches,
                comm::Communicator& single_rank)
      : MeasuredOrder(setup, with(setup.config, order), order, batches, single_rank) {}

  SyntheticTraining& training() { return training_; }
  const std::vector<Range>& buckets() const { return buckets_->buckets(); }
  const std::string& name() const { return result_.name; }

  void step_without_link(size_t batch, bool measured) {
    const SyntheticTraining::Step step = training_.timed_step(batch, *single_rank_buckets_);
    if (measured) without_link_.push_back(step.seconds);
  }
  void step(size_t batch, bool measured, training::Timeline* timeline) {
    const SyntheticTraining::Step step = training_.timed_step(batch, *buckets_, timeline);
    if (measured) steps_.push_back(step);
  }

  OrderMeasurement result(double bytes_of_element) {
    const auto of_steps = [&](auto value) {
      std::vector<double> values;
      for (const SyntheticTraining::Step& step : steps_) values.push_back(value(step));
      return slowest(ranks_, median(std::move(values)));
    };
    OrderMeasurement result = result_;
    result.step = of_steps([](const auto& step) { return step.seconds; });
    result.step_without_link = slowest(ranks_, median(without_link_));
    result.forward = of_steps([](const auto& step) { return step.compute.forward; });
    result.backward = of_steps([](const auto& step) { return step.compute.backward; });
    result.hides = layered_ ? result.backward
                            : of_steps([](const auto& step) { return step.compute.last_backward; });
    const auto of_longest_compute = [&](auto value) {
      std::vector<double> values;
      for (const SyntheticTraining::Step& step : steps_) {
        const double compute = step.compute.forward + step.compute.backward;
        values.push_back(of_slowest(ranks_, compute, value(step)));
      }
      return median(std::move(values));
    };
    result.communication.measured =
        of_longest_compute([](const auto& step) { return step.reduce.communication_seconds; });
    result.exposed.measured = of_longest_compute(
        [](const auto& step) { return step.reduce.exposed_communication_seconds; });
    add_formulas(result, bytes_of_element);
    return result;
  }

 private:
  MeasuredOrder(const SectionSetup& setup, const config::RunConfig& config, const Order& order,
                int batches, comm::Communicator& single_rank)
      : ranks_(setup.ranks),
        link_(setup.options.link),
        training_(config, {setup.options.micro_batch_tokens}, batches, ranks_, setup.make_device()),
        buckets_(
            training_.make_buckets(setup.network.communicator, training::bucket_options(config))) {
    result_.name = name_of(order);
    layered_ = order.accumulation == AccumulationOrder::kLayer;
    const training::Schedule schedule =
        training::make_schedule(config, training_.model().config(), ranks_.size());
    ready_blocks_ =
        ready_blocks(schedule, attention_share(schedule, layered_), training_.model().layout(),
                     buckets_->plan(), order.split_tied_embedding, config.reduce.half_layers);
    result_.activations = {static_cast<double>(training_.model().activation_bytes()),
                           activation_bytes(training_.model())};
    result_.all_memory = static_cast<double>(training_.backend().buffer_bytes());
    single_rank_buckets_ = training_.make_buckets(single_rank, training::bucket_options(config));
  }

  void add_formulas(OrderMeasurement& result, double bytes_of_element) {
    const bert::ParameterLayout& layout = training_.model().layout();
    const auto layers = static_cast<double>(layout.layers.size());
    const auto size = static_cast<double>(layout.size);
    // For every reduction: its size, and the share of backward that is left when it is ready. The
    // layers, blocks 1, 2, ..., divide backward evenly; heads and embeddings take none of it.
    std::vector<double> elements, before_end;
    double tail = 0;
    const auto add = [&](int64_t count, double bytes, double block) {
      elements.push_back(static_cast<double>(count) * bytes / bytes_of_element);
      before_end.push_back(result.hides * std::clamp(block - 1, 0.0, layers) / layers);
      if (block == 0) tail += elements.back();
    };
    const int64_t sparse = buckets_->tied_rows();
    if (sparse > 0) add(layout.word_embeddings.rows, 2, layers + 1);  // the rows' indices
    for (size_t bucket = 0; bucket < buckets().size(); ++bucket) {
      add(buckets()[bucket].size(), bytes_of_element, ready_blocks_[bucket]);
    }
    if (sparse > 0) add(sparse * layout.word_embeddings.cols, bytes_of_element, 0);
    result.tail = tail / size;

    std::vector<double> seconds;
    const double all = sum(elements);
    for (const double count : elements) {
      seconds.push_back(
          link_ ? comm::all_reduce_seconds(*link_, ranks_.size(), count * bytes_of_element)
                : result.communication.measured * count / all);
      if (link_) result.communication.formula += seconds.back();
    }
    result.exposed.formula = exposed_communication(seconds, before_end);
  }

  const training::Ranks& ranks_;
  std::optional<comm::Link> link_;
  SyntheticTraining training_;
  std::unique_ptr<comm::GradientBuckets> buckets_, single_rank_buckets_;
  std::vector<double> ready_blocks_;  // one per bucket
  bool layered_ = false;
  OrderMeasurement result_;
  std::vector<SyntheticTraining::Step> steps_;
  std::vector<double> without_link_;
};

}  // namespace

DataParallelOrders measure_data_parallel(const SectionSetup& setup) {
  const ScheduleOptions& options = setup.options;
  const int steps = options.steps + kUnmeasuredSteps;
  const auto single_rank = comm::make_single_communicator();
  DataParallelOrders result;
  std::vector<std::unique_ptr<MeasuredOrder>> contenders;
  for (const Order& order : all_orders()) {
    if (const auto reason = reason_to_skip(with(setup.config, order), setup.ranks.size())) {
      result.skipped.push_back({name_of(order), *reason});
      continue;
    }
    contenders.push_back(std::make_unique<MeasuredOrder>(setup, order, steps, *single_rank));
  }
  if (contenders.empty()) return result;
  const auto element =
      static_cast<double>(size_of(training::bucket_options(setup.config).reduce_dtype));
  MeasuredOrder& first = *contenders.front();
  result.buckets = std::ssize(first.buckets());
  result.bytes = static_cast<double>(first.training().model().layout().size) * element;

  for (int i = 0; i < steps; ++i) {
    const auto batch = static_cast<size_t>(i);
    const bool measured = i >= kUnmeasuredSteps, last = i + 1 == steps;
    for (const auto& contender : contenders) {
      contender->step_without_link(batch, measured);
      const auto begin = Clock::now();
      contender->step(batch, measured, last ? &setup.timeline : nullptr);
      if (last) setup.timeline.add_step(contender->name(), begin, Clock::now());
    }
    if (measured) result.tokens += first.training().work(batch).tokens;
    if (options.progress) options.progress("schedules", batch + 1, static_cast<size_t>(steps));
  }
  result.tokens = sum_over_ranks(setup.ranks, result.tokens) / options.steps;
  for (const auto& contender : contenders) result.orders.push_back(contender->result(element));
  return result;
}

}  // namespace strata::bench
