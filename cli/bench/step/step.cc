#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/text/counts.h"
#include "base/text/json_version.h"
#include "bench/step/step_benchmark.h"
#include "cli/bench/bench.h"
#include "cli/bench/step/step_options.h"
#include "cli/options/config_options.h"
#include "cli/output/write_json.h"
#include "cli/ranks.h"
#include "training/factories/buckets.h"
#include "training/factories/checks.h"
#include "training/factories/model.h"
#include "training/factories/schedule.h"
#include "training/schedules/step_list.h"

namespace strata::cli {
namespace {

struct BenchStepOptions {
  ConfigOptions run;
  bench::StepBenchmarkOptions benchmark;
  bool json = false;
  bool explain = false;
};

void print_json(const bench::StepBenchmark& b) {
  nlohmann::ordered_json seconds = {{"start_to_first_measured_step", b.start}, {"step", b.step}};
  if (b.knows_phases) {
    seconds.update({{"forward", b.forward},
                    {"backward", b.backward},
                    {"waiting_for_stages", b.waiting},
                    {"reduce_and_update_after_backward", b.wait},
                    {"reduce", b.reduce},
                    {"update", b.update}});
  }
  nlohmann::ordered_json result = {
      {"version", kJsonVersion},
      {"device", b.device},
      {"ranks", b.ranks},
      {"sequences_per_step", b.sequences},
      {"tokens_per_step", b.tokens},
      {"model_flops_per_step", b.flops},
      {"tokens_per_second", b.tokens_per_second()},
      {"sequences_per_second", b.sequences_per_second()},
      {"model_flops_per_second", b.flops_per_second()},
      {"matrix_peak_flops_per_second", b.peak_flops_per_second},
      {"share_of_matrix_peak", b.flops_per_second() / b.peak_flops_per_second},
      {"bytes_sent_per_step", b.bytes_sent},
      {"parameter_bytes",
       {{"weights", b.memory.weights},
        {"gradients", b.memory.gradients},
        {"state", b.memory.state}}},
      {"seconds", seconds},
      {"lengths", b.lengths}};
  if (!b.knows_phases) {
    result["graphs"] = {{"captured", b.graphs.graphs}, {"bytes", b.graphs.bytes}};
  }
  write_json(result);
}

void print_table(const bench::StepBenchmark& b) {
  fmt::print("{}, {}\n", b.device, counted(b.ranks, "rank"));
  fmt::print("start           {:10.1f} s    from the process's start to the first measured step\n",
             b.start);
  fmt::print("step            {:10.1f} ms   {}, {}\n", b.step * 1e3,
             counted(b.sequences, "sequence"), counted(b.tokens, "token"));
  const auto phase = [&](const char* name, double seconds, const char* note) {
    fmt::print("  {:<14} {:10.1f} ms   {:5.1f} %{}\n", name, seconds * 1e3, 100 * seconds / b.step,
               note);
  };
  if (b.knows_phases) {
    phase("forward", b.forward, "");
    phase("backward", b.backward, "");
    if (b.waiting > 0) phase("waiting", b.waiting, "   for messages of other stages");
    phase("after backward", b.wait, "   rest of reduce and update");
    phase("reduce", b.reduce, "   all of it, also during backward");
    phase("update", b.update, "   all of it, also during backward");
  } else {
    fmt::print("  launched as captured graphs: phases are not known; {} in {:.1f} MB\n",
               counted(b.graphs.graphs, "graph"), static_cast<double>(b.graphs.bytes) / 1e6);
  }
  const auto megabytes = [](int64_t bytes) { return static_cast<double>(bytes) / 1e6; };
  fmt::print("sent            {:10.1f} MB   by this rank, in collectives\n",
             megabytes(b.bytes_sent));
  fmt::print("parameters      {:10.1f} MB   weights {:.1f}, gradients {:.1f}, state {:.1f}\n",
             megabytes(b.memory.total()), megabytes(b.memory.weights),
             megabytes(b.memory.gradients), megabytes(b.memory.state));
  fmt::print("tokens/s        {:10.0f}\n", b.tokens_per_second());
  fmt::print("sequences/s     {:10.2f}\n", b.sequences_per_second());
  fmt::print("model GFLOP/s   {:10.1f}\n", b.flops_per_second() / 1e9);
  fmt::print("matrix peak     {:10.1f}    GFLOP/s, GEMMs of {} x {} between the steps\n",
             b.peak_flops_per_second / 1e9, b.peak_size, b.peak_size);
  fmt::print("share of peak   {:10.1f} %\n", 100 * b.flops_per_second() / b.peak_flops_per_second);
}

// The operations of one step on a rank with one stage of the model.
struct Explanation {
  training::StepPlan plan;
  int own_blocks = 0;
  int buckets = 0;
  comm::OperationList operations;

  const bert::Stage& stage() const { return plan.schedule.stage; }
  // Returns how many steps ago the operation's micro-batch began.
  int lag_of(const comm::Operation& operation) const {
    if (operation.object == comm::kNoObject || is_of_bucket(operation.kind)) return 0;
    return training::lag_of(plan.schedule, {operation.kind, operation.object, operation.round});
  }
  int peer_of(const comm::Operation& operation) const {
    if (operation.lane != comm::Lane::kMessages) return -1;
    return training::peer_of(plan.schedule, {operation.kind, operation.object, operation.round});
  }
};

Explanation explain(const config::RunConfig& config, int ranks, const bert::Stage& stage) {
  const bert::BertConfig model = training::make_bert_config(config);
  const bert::ParameterLayout layout(model, stage);
  const comm::BucketPlan buckets = training::bucket_plan(config, layout, ranks, stage);
  Explanation explanation{.plan = training::step_plan(config, model, ranks, stage),
                          .own_blocks = static_cast<int>(layout.groups.size()),
                          .buckets = buckets.count()};
  explanation.operations = training::make_step_list(explanation.plan, buckets).operations;
  return explanation;
}

nlohmann::ordered_json to_json(const Explanation& explanation) {
  auto list = nlohmann::ordered_json::array();
  for (const comm::Operation& operation : explanation.operations.operations()) {
    const bool is_of_bucket = comm::is_of_bucket(operation.kind);
    nlohmann::ordered_json line = {{"operation", name_of(operation.kind)},
                                   {"lane", name_of(operation.lane)}};
    if (is_of_bucket && operation.object != comm::kNoObject) {
      line["bucket"] = operation.object;
    } else if (operation.object != comm::kNoObject) {
      line["block"] = object_of(operation, explanation.plan);
    }
    line[is_of_bucket ? "round" : "micro_batch"] = operation.round;
    if (const int lag = explanation.lag_of(operation); lag > 0) line["lag"] = lag;
    if (const int peer = explanation.peer_of(operation); peer >= 0) line["peer"] = peer;
    line["after"] = operation.after;
    list.push_back(line);
  }
  const training::Schedule& schedule = explanation.plan.schedule;
  nlohmann::ordered_json result = {{"schedule", schedule.name}};
  if (explanation.stage().count > 1) {
    result.update({{"stage", explanation.stage().index}, {"stages", explanation.stage().count}});
  }
  result.update({{"blocks", explanation.own_blocks},
                 {"micro_batches", schedule.micro_batches},
                 {"in_flight", schedule.in_flight},
                 {"buckets", explanation.buckets},
                 {"operations", list}});
  return result;
}

// Prints one operation per line.
void print(const Explanation& explanation) {
  const training::Schedule& schedule = explanation.plan.schedule;
  const bert::Stage& stage = explanation.stage();
  fmt::print("{}{}: {}, {}, {} in flight, {} of gradients\n\n", schedule.name,
             stage.count > 1 ? fmt::format(", stage {} of {}", stage.index, stage.count) : "",
             counted(explanation.own_blocks, "block"),
             counted(schedule.micro_batches, "micro-batch"), schedule.in_flight,
             counted(explanation.buckets, "bucket"));
  fmt::print("{:>5}  {:<12} {:<16} {:<12} {:>11}  {}\n", "", "lane", "operation", "of",
             "micro-batch", "after");
  const std::vector<comm::Operation>& operations = explanation.operations.operations();
  for (size_t i = 0; i < operations.size(); ++i) {
    const comm::Operation& operation = operations[i];
    const int lag = explanation.lag_of(operation), peer = explanation.peer_of(operation);
    std::string round = std::to_string(operation.round);
    if (lag > 0) round = counted(lag, "step") + " ago";
    if (comm::is_of_bucket(operation.kind) && schedule.rounds == 1) round.clear();
    std::string after = fmt::format("{}", fmt::join(operation.after, ", "));
    if (peer >= 0) {
      after += fmt::format("{}{} stage {}", after.empty() ? "" : "; ",
                           is_send(operation.kind) ? "to" : "from", peer);
    }
    const std::string line =
        fmt::format("{:>5}  {:<12} {:<16} {:<12} {:>11}  {}", i, name_of(operation.lane),
                    name_of(operation.kind), object_of(operation, explanation.plan), round, after);
    fmt::print("{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
  }
}

// Prints all stages, one after another.
void print_explanation(const config::RunConfig& config, int ranks, bool json) {
  const int ranks_of_replica = config::ranks_of_replica(config);
  training::check_stages(config, training::make_bert_config(config), ranks_of_replica);
  auto list = nlohmann::ordered_json::array();
  for (int rank = 0; rank < ranks_of_replica; ++rank) {
    const Explanation explanation =
        explain(config, ranks / ranks_of_replica, training::stage_of_rank(config, rank));
    if (json) {
      list.push_back(to_json(explanation));
    } else {
      if (rank > 0) fmt::print("\n");
      print(explanation);
    }
  }
  if (json) {
    write_json(nlohmann::ordered_json{{"version", kJsonVersion}, {"stages", list}});
  }
}

}  // namespace

void add_bench_step(CLI::App& bench) {
  const auto options = std::make_shared<BenchStepOptions>();
  CLI::App* command = bench.add_subcommand(
      "step", "Measure training steps on synthetic batches, phase by phase; needs no data");
  add_config_options(*command, options->run, ": model, precision, batch, clip, reduce",
                     "model.precision=bf16")
      ->required();
  add_step_options(*command, "Number of steps to measure", options->benchmark.steps,
                   options->benchmark.micro_batch_tokens);
  add_length_option(*command, options->benchmark.length);
  command->add_flag("--json", options->json, "Print JSON");
  command->add_flag("--explain", options->explain,
                    "Print the operations of one step instead, for every stage of a pipeline: "
                    "each with its lane (thread or stream), block or bucket, micro-batch, and the "
                    "operations on which it depends");
  command->callback([options] {
    on_all_ranks([&](const training::Ranks& ranks) {
      const auto config = options->run.load();
      if (options->explain) {
        if (ranks.first()) print_explanation(config, ranks.size(), options->json);
        return;
      }
      const auto result = bench::benchmark_steps(config, options->benchmark, ranks);
      if (ranks.first()) options->json ? print_json(result) : print_table(result);
    });
  });
}

}  // namespace strata::cli
