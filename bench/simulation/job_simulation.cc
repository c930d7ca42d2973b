#include "bench/simulation/job_simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/text/counts.h"
#include "bert/parameters/parameters.h"
#include "plan/forms/step_forms.h"
#include "training/factories/buckets.h"
#include "training/factories/checks.h"
#include "training/factories/schedule.h"

namespace strata::bench {
namespace {

using comm::nanoseconds;

std::string name_of(const JobInput& input, int stage, int stages, bool is_slow) {
  const std::string replica = is_slow ? "slow replica" : input.slowest != 1 ? "other replicas" : "";
  if (stages > 1) {
    return fmt::format("{}{}stage {} of {}", replica, replica.empty() ? "" : ", ", stage, stages);
  }
  if (!replica.empty()) return replica;
  return input.ranks == 1 ? "rank 0" : fmt::format("all {}", counted(input.ranks, "rank"));
}

// Returns nullopt if the closed form does not cover the step.
std::optional<double> exposed_formula(const EqualRanks& rank, const comm::BucketPlan& buckets) {
  if (rank.plan.schedule.stage.count > 1 || buckets.sharded() || buckets.has_tied_rows) return {};
  // Seconds of computing until each operation has ended, if it waits for nothing.
  std::vector<double> computed;
  double sum = 0;
  for (int place = 0; place < rank.list.size(); ++place) {
    const auto index = static_cast<size_t>(place);
    const bool before_end = place <= rank.list.end_of_backward();
    if (before_end && rank.list[place].lane == comm::Lane::kCompute) {
      sum += rank.costs[index].seconds;
    }
    computed.push_back(sum);
  }
  const std::vector<int> ready = training::ready_operations(rank.list, buckets.count());
  std::vector<double> seconds, before_end;
  for (int place = 0; place < rank.list.size(); ++place) {
    const comm::Operation& operation = rank.list[place];
    if (operation.kind != comm::Operation::Kind::kReduce) continue;
    const comm::OperationCost& cost = rank.costs[static_cast<size_t>(place)];
    seconds.push_back(cost.seconds + cost.latency);
    const int completed = ready[static_cast<size_t>(operation.object)];
    before_end.push_back(
        buckets.rule->needs_whole_gradient() ? 0 : sum - computed[static_cast<size_t>(completed)]);
  }
  return plan::exposed_communication(seconds, before_end);
}

class Job {
 public:
  explicit Job(const JobInput& input)
      : input_(input), stages_(config::ranks_of_replica(input.config)) {
    training::check_stages(input.config, input.model, input.ranks);
    replicas_ = input.ranks / stages_;
    if (input.slowest != 1 && replicas_ == 1) {
      fail(
          "one replica is {} times as slow as the others, but there is only one replica; give more "
          "--ranks, or omit --slowest",
          input.slowest);
    }
  }

  JobSimulation run() {
    const int simulated_replicas = input_.slowest != 1 ? 2 : 1;
    result_.ranks.reserve(static_cast<size_t>(simulated_replicas * stages_));
    for (int replica = 0; replica < simulated_replicas; ++replica) {
      for (int stage = 0; stage < stages_; ++stage) add(replica, stage);
    }
    std::vector<comm::SimulatedRank> ranks;
    for (const EqualRanks& rank : result_.ranks) ranks.push_back({&rank.list, rank.costs});
    const bool threads = input_.config.device.backend->memory_is_host;
    comm::SimulatedStep step = comm::simulate(
        ranks, {.executor =
                    threads ? comm::SimulatedExecutor::kThreads : comm::SimulatedExecutor::kStreams,
                .compute_speed_in_collectives = input_.compute_speed_in_collectives});
    constexpr double kLongest = 1e9;
    const double seconds = input_.device.step_seconds + step.seconds;
    if (seconds > kLongest)
      fail("a step takes {:.3g} s, too long to be useful; give other speeds", seconds);
    for (size_t i = 0; i < ranks.size(); ++i) summarize(result_.ranks[i], std::move(step.spans[i]));
    return std::move(result_);
  }

 private:
  // The first replica is the slow one.
  void add(int replica, int stage_index) {
    const bert::Stage stage = training::stage_of_rank(input_.config, stage_index);
    const bert::ParameterLayout layout(input_.model, stage);
    const comm::BucketPlan buckets = training::bucket_plan(input_.config, layout, replicas_, stage);
    EqualRanks rank{.plan = training::step_plan(input_.config, input_.model, replicas_, stage)};
    check_size(rank.plan.schedule, buckets);
    rank.list = training::make_step_list(rank.plan, buckets).operations;
    const bool is_slow = input_.slowest != 1 && replica == 0;
    rank.name = name_of(input_, stage_index, stages_, is_slow);
    rank.costs = operation_costs({.config = input_.config,
                                  .model = input_.model,
                                  .plan = rank.plan,
                                  .buckets = buckets,
                                  .list = rank.list,
                                  .lengths = input_.lengths,
                                  .compute_bytes = input_.compute_bytes,
                                  .device = input_.device,
                                  .durations = input_.durations,
                                  .network = input_.network,
                                  .replicas = replicas_,
                                  .stages = stages_,
                                  .replica = replica,
                                  .slowness = is_slow ? input_.slowest : 1});
    if (replica == 0) result_.buckets += buckets.count();
    if (result_.ranks.empty()) result_.exposed_formula = exposed_formula(rank, buckets);
    result_.ranks.push_back(std::move(rank));
  }

  static void check_size(const training::Schedule& schedule, const comm::BucketPlan& buckets) {
    constexpr int64_t kMost = 1'000'000;
    const auto tasks = std::ssize(schedule.tasks);
    if (tasks > kMost) {
      fail(
          "a step has {}, too many to simulate; use fewer micro-batches "
          "(batch.gradient_accumulation_steps)",
          counted(tasks, "task"));
    }
    const int64_t reductions = int64_t{buckets.rounds} * buckets.count();
    if (reductions > kMost) {
      fail("a step has {}, too many to simulate; use larger buckets (reduce.bucket_megabytes)",
           counted(reductions, "reduction"));
    }
  }

  // The step's constant comes before all operations.
  void summarize(EqualRanks& rank, std::vector<comm::SimulatedSpan> spans) {
    rank.spans = std::move(spans);
    for (comm::SimulatedSpan& span : rank.spans) {
      span.begin += input_.device.step_seconds;
      span.end += input_.device.step_seconds;
    }
    for (const comm::SimulatedSpan& span : rank.spans) rank.end = std::max(rank.end, span.end);
    rank.end_of_backward = rank.spans[static_cast<size_t>(rank.list.end_of_backward())].end;
    constexpr double kSame = 1e-9;
    if (rank.end <= result_.step * (1 + kSame)) return;
    result_.step = rank.end;
    result_.backward_end = rank.end_of_backward;
    result_.times = comm::step_times(comm::operation_times(rank.list, rank.spans),
                                     nanoseconds(rank.end_of_backward), nanoseconds(rank.end));
  }

  const JobInput& input_;
  int stages_, replicas_ = 1;
  JobSimulation result_;
};

}  // namespace

// A receive may begin long before its message leaves, so the send alone shows the message.
std::vector<training::TimelineSpan> EqualRanks::timeline(const std::string& step_name) const {
  std::vector<training::TimelineSpan> result{{std::nullopt, step_name, 0, nanoseconds(end)}};
  for (int place = 0; place < list.size(); ++place) {
    const comm::Operation& operation = list[place];
    const comm::SimulatedSpan& span = spans[static_cast<size_t>(place)];
    const bool receives = operation.lane == comm::Lane::kMessages && !is_send(operation.kind);
    if (receives || span.end <= span.begin) continue;
    result.push_back({operation.lane,
                      training::name_in_timeline(operation.kind, operation.object, plan.names),
                      nanoseconds(span.begin), nanoseconds(span.end)});
  }
  return result;
}

JobSimulation simulate_job(const JobInput& input) { return Job(input).run(); }

}  // namespace strata::bench
