#include "bench/schedule_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "bench/devices/sleeping_device.h"
#include "bench/synthetic_training.h"
#include "training/options.h"
#include "training/schedules/explanation.h"

namespace strata::bench {
namespace {

using config::AccumulationOrder;
using config::ActivationPolicy;

struct Order {
  AccumulationOrder accumulation;
  ActivationPolicy activations;
  bool early_words = false;
};

// Those that the clip mode allows.
std::vector<Order> orders_of(const config::RunConfig& config) {
  std::vector<Order> orders;
  const bool whole = config.clip.mode == config::ClipMode::kNone ||
                     config.clip.mode == config::ClipMode::kAfterAllReduce;
  for (const auto accumulation : {AccumulationOrder::kMicroBatch, AccumulationOrder::kLayer}) {
    orders.push_back({accumulation, ActivationPolicy::kKeep});
    orders.push_back({accumulation, ActivationPolicy::kRecompute});
    if (whole) orders.push_back({accumulation, ActivationPolicy::kKeep, true});
  }
  return orders;
}

std::string name_of(const Order& order) {
  const bool recompute = order.activations == ActivationPolicy::kRecompute;
  return std::string(config::name_of(order.accumulation)) + (recompute ? ", recompute" : "") +
         (order.early_words ? ", early words" : "");
}

// With which block each bucket is ready.
std::vector<int> ready_blocks(const training::Schedule& schedule,
                              const bert::ParameterLayout& layout,
                              const std::vector<Range>& buckets, bool early_words) {
  std::vector<int> blocks(buckets.size());
  for (const training::ExplainedTask& each :
       training::explain(schedule, layout, buckets, early_words)) {
    if (each.task.kind != training::Task::Kind::kReady) continue;
    for (const int bucket : each.buckets) blocks[static_cast<size_t>(bucket)] = each.task.block;
  }
  return blocks;
}

// T tokens, M masked positions, L layers, H hidden, I intermediate, A heads; c and m are bytes of
// the compute and the master dtype. What crosses blocks: (L + 2) T H c. A layer keeps T (8 H + 2 I)
// c - T H c of its output + T (A + 2) m; embeddings T H c + T m; heads 6 M H c.
double activation_formula(const bert::Model& model) {
  const bert::BertConfig& bert = model.config();
  const bert::BatchCapacity room = model.rounding().rounded(model.capacity());
  const auto c = static_cast<double>(size_of(model.backend().compute_dtype()));
  const auto m = static_cast<double>(size_of(model.backend().master_dtype()));
  const auto t = static_cast<double>(room.tokens), h = static_cast<double>(bert.hidden_size);
  const auto layers = static_cast<double>(bert.layers);
  const double crossing = (layers + 2) * t * h * c;
  const double layer = t * (7 * h + 2 * static_cast<double>(bert.intermediate_size)) * c +
                       t * (static_cast<double>(bert.heads) + 2) * m;
  const double ends = t * h * c + t * m + 6 * static_cast<double>(room.masked) * h * c;
  const double in_flight = model.in_flight();
  return model.recomputes() ? in_flight * crossing + layer + ends
                            : in_flight * (crossing + layers * layer + ends);
}

// Steps of one order, with and without communication.
class MeasuredOrder {
 public:
  MeasuredOrder(config::RunConfig config, const Order& order, const ScheduleOptions& options,
                int batches, const training::Ranks& ranks, comm::Communicator& network,
                comm::Communicator& alone)
      : ranks_(ranks),
        link_(options.link),
        training_(
            with(config, order), options.micro_batch_tokens, batches, ranks,
            options.sleeping_flops > 0 ? make_sleeping_device(options.sleeping_flops) : nullptr),
        buckets_(training_.make_buckets(network, training::bucket_options(config))),
        alone_(training_.make_buckets(alone, training::bucket_options(config))) {
    result_.name = name_of(order);
    ready_blocks_ =
        ready_blocks(training::make_schedule(config, training_.model().config(), ranks.size()),
                     training_.model().layout(), buckets(), order.early_words);
    result_.activations = {static_cast<double>(training_.model().activation_bytes()),
                           activation_formula(training_.model())};
    result_.all_memory = static_cast<double>(training_.backend().buffer_bytes());
    layered_ = order.accumulation == AccumulationOrder::kLayer;
  }

  SyntheticTraining& training() { return training_; }
  const std::vector<Range>& buckets() const { return buckets_->buckets(); }
  const std::string& name() const { return result_.name; }

  void step_without_link(size_t batch, bool measured) {
    const SyntheticTraining::Step step = training_.timed_step(batch, *alone_);
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
    using Step = SyntheticTraining::Step;
    OrderMeasurement result = result_;
    result.step = of_steps([](const Step& step) { return step.seconds; });
    result.step_without_link = slowest(ranks_, median(without_link_));
    result.forward = of_steps([](const Step& step) { return step.compute.forward; });
    result.backward = of_steps([](const Step& step) { return step.compute.backward; });
    result.hides = layered_ ? result.backward
                            : of_steps([](const Step& step) { return step.compute.last_backward; });
    result.communication.measured =
        of_steps([](const Step& step) { return step.reduce.communication_seconds; });
    result.exposed.measured =
        of_steps([](const Step& step) { return step.reduce.exposed_communication_seconds; });
    add_formulas(result, bytes_of_element);
    return result;
  }

 private:
  static const config::RunConfig& with(config::RunConfig& config, const Order& order) {
    config.batch.accumulation_order = order.accumulation;
    config.batch.activations = order.activations;
    config.reduce.early_words = order.early_words;
    return config;
  }

  void add_formulas(OrderMeasurement& result, double bytes_of_element) {
    const bert::ParameterLayout& layout = training_.model().layout();
    const auto layers = static_cast<double>(layout.layers.size());
    const auto size = static_cast<double>(layout.size);
    // What is reduced, and how much of backward is left when it is ready: layers, which are blocks
    // 1, 2, ..., share that evenly, heads and embeddings take none of it.
    std::vector<double> elements, before_end;
    double tail = 0;
    const auto add = [&](int64_t count, double bytes, int block) {
      elements.push_back(static_cast<double>(count) * bytes / bytes_of_element);
      before_end.push_back(result.hides * std::clamp<double>(block - 1, 0, layers) / layers);
      if (block == 0) tail += elements.back();
    };
    const int64_t late = buckets_->late_rows();
    if (late > 0) add(layout.word_embeddings.rows, 2, static_cast<int>(layers) + 1);  // which rows
    for (size_t bucket = 0; bucket < buckets().size(); ++bucket) {
      add(buckets()[bucket].size(), bytes_of_element, ready_blocks_[bucket]);
    }
    if (late > 0) add(late * layout.word_embeddings.cols, bytes_of_element, 0);
    result.tail = tail / size;

    std::vector<double> seconds;
    const double all = std::accumulate(elements.begin(), elements.end(), 0.0);
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
  std::unique_ptr<comm::GradientBuckets> buckets_, alone_;
  std::vector<int> ready_blocks_;  // of every bucket
  bool layered_ = false;
  OrderMeasurement result_;
  std::vector<SyntheticTraining::Step> steps_;
  std::vector<double> without_link_;
};

}  // namespace

double exposed_communication(std::span<const double> seconds, std::span<const double> before_end) {
  double left = 0, exposed = 0;
  for (size_t i = seconds.size(); i-- > 0;) {
    left += seconds[i];
    exposed = std::max(exposed, left - before_end[i]);
  }
  return exposed;
}

ScheduleBenchmark benchmark_schedules(const config::RunConfig& config,
                                      const ScheduleOptions& options,
                                      const training::Ranks& ranks) {
  if (ranks.size() == 1) {
    fail(
        "one rank communicates with nobody: start it on several, "
        "scripts/mpirun.sh -n 2 strata bench schedule ...");
  }
  training::check_one_stage(config);
  constexpr int kUnmeasured = 1;
  const int steps = options.steps + kUnmeasured;
  const auto alone = comm::make_single_communicator();
  const auto network = options.link
                           ? comm::make_slow_link(ranks.communicator.duplicate(), *options.link)
                           : ranks.communicator.duplicate();
  std::vector<std::unique_ptr<MeasuredOrder>> contenders;
  for (const Order& order : orders_of(config)) {
    contenders.push_back(
        std::make_unique<MeasuredOrder>(config, order, options, steps, ranks, *network, *alone));
  }
  SyntheticTraining& first = contenders.front()->training();
  if (options.link && first.backend().has_collectives()) {
    fail("device.backend={}: a slower link than its own cannot be emulated; use --real-network",
         first.backend().name());
  }
  const auto element = static_cast<double>(size_of(training::bucket_options(config).reduce_dtype));
  ScheduleBenchmark result{.device = first.backend().description(),
                           .ranks = ranks.size(),
                           .micro_batches = config.batch.gradient_accumulation_steps,
                           .buckets = std::ssize(contenders.front()->buckets()),
                           .bytes = static_cast<double>(first.model().layout().size) * element,
                           .link = options.link};

  training::Timeline timeline(ranks.communicator);
  for (int i = 0; i < steps; ++i) {
    const auto batch = static_cast<size_t>(i);
    const bool measured = i >= kUnmeasured, last = i + 1 == steps;
    for (const auto& contender : contenders) {
      contender->step_without_link(batch, measured);
      const auto begin = Clock::now();
      contender->step(batch, measured, last ? &timeline : nullptr);
      if (last) timeline.add(training::Lane::kStep, contender->name(), begin, Clock::now());
    }
    if (measured) result.tokens += first.work(batch).tokens;
    if (options.progress) options.progress(batch + 1, static_cast<size_t>(steps));
  }
  if (!options.timeline.empty()) timeline.write(options.timeline);
  std::vector<int64_t> tokens = {result.tokens};
  ranks.communicator.all_reduce_sum(tokens);
  result.tokens = tokens[0] / options.steps;
  for (const auto& contender : contenders) result.orders.push_back(contender->result(element));
  return result;
}

}  // namespace strata::bench
