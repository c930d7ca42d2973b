#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/json_version.h"
#include "base/text/counts.h"
#include "base/text/json.h"
#include "bench/step_benchmark.h"
#include "cli/bench/bench.h"
#include "cli/bench/step_options.h"
#include "cli/options/config_options.h"
#include "cli/ranks.h"
#include "training/options.h"
#include "training/schedules/explanation.h"

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
  fmt::print("{}\n", json_text(result, 2));
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
    if (b.waiting > 0) phase("waiting", b.waiting, "   for what other stages send");
    phase("after backward", b.wait, "   what is left of reduce and update");
    phase("reduce", b.reduce, "   all of it, beside backward");
    phase("update", b.update, "   all of it, beside backward");
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

// The order of work of one step, of one stage of the model.
struct Explanation {
  training::Schedule schedule;
  int own_blocks = 0;
  size_t buckets = 0;
  std::vector<training::ExplainedTask> tasks;

  const bert::Stage& stage() const { return schedule.stage; }
};

Explanation explain(const config::RunConfig& config, int ranks, const bert::Stage& stage) {
  const bert::BertConfig model = training::make_bert_config(config);
  const bert::ParameterLayout layout(model, stage);
  const std::vector<Range> buckets = training::gradient_buckets(config, layout);
  const auto delayed = training::make_delayed_work(config, model, stage);
  Explanation explanation{.schedule = delayed
                                          ? delayed->schedule
                                          : training::make_schedule(config, model, ranks, stage),
                          .own_blocks = static_cast<int>(layout.groups.size()),
                          .buckets = buckets.size()};
  explanation.tasks = training::explain(explanation.schedule, layout, buckets,
                                        config.reduce.early_words, config.reduce.half_layers);
  return explanation;
}

nlohmann::ordered_json to_json(const Explanation& explanation) {
  auto list = nlohmann::ordered_json::array();
  for (const training::ExplainedTask& each : explanation.tasks) {
    nlohmann::ordered_json line = {{"task", name_of(each.task.kind)},
                                   {"micro_batch", each.task.micro_batch}};
    if (const int lag = lag_of(explanation.schedule, each.task); lag > 0) line["lag"] = lag;
    if (!each.block.empty()) line["block"] = each.block;
    if (each.peer >= 0) line["peer"] = each.peer;
    if (!each.gradients.empty()) {
      for (const Range& range : each.gradients) {
        line["gradients"].push_back({range.begin, range.end});
      }
      line["buckets"] = each.buckets;
    }
    list.push_back(line);
  }
  nlohmann::ordered_json result = {{"schedule", explanation.schedule.name}};
  if (explanation.stage().count > 1) {
    result.update({{"stage", explanation.stage().index}, {"stages", explanation.stage().count}});
  }
  result.update({{"blocks", explanation.own_blocks},
                 {"micro_batches", explanation.schedule.micro_batches},
                 {"in_flight", explanation.schedule.in_flight},
                 {"buckets", explanation.buckets},
                 {"tasks", list}});
  return result;
}

// A task a line.
void print(const Explanation& explanation) {
  const training::Schedule& schedule = explanation.schedule;
  const bert::Stage& stage = explanation.stage();
  fmt::print("{}{}: {}, {}, {} in flight, {} of gradients\n\n", schedule.name,
             stage.count > 1 ? fmt::format(", stage {} of {}", stage.index, stage.count) : "",
             counted(explanation.own_blocks, "block"),
             counted(schedule.micro_batches, "micro-batch"), schedule.in_flight,
             counted(explanation.buckets, "bucket"));
  const int width = stage.count > 1 ? 16 : 9;  // "receive_gradient", "recompute"
  fmt::print("{:>5}  {:>11}  {:<12} {:<{}} {}\n", "", "micro-batch", "block", "task", width,
             "what becomes ready");
  for (size_t i = 0; i < explanation.tasks.size(); ++i) {
    const training::ExplainedTask& each = explanation.tasks[i];
    std::string ready;
    if (each.peer >= 0) {
      const bool sent = each.task.kind == training::Task::Kind::kSendOutput ||
                        each.task.kind == training::Task::Kind::kSendGradient;
      ready = fmt::format("{} stage {}", sent ? "to" : "from", each.peer);
    }
    if (each.task.kind == training::Task::Kind::kUpdate) ready = "every bucket is updated";
    if (!each.gradients.empty()) {
      int64_t gradients = 0;
      for (const Range& range : each.gradients) gradients += range.size();
      ready = fmt::format("{:.2f} million gradients", 1e-6 * static_cast<double>(gradients));
      if (!each.buckets.empty()) {
        ready += fmt::format("; {} {}", noun_of(each.buckets.size(), "bucket"),
                             fmt::join(each.buckets, ", "));
      }
    }
    const int lag = lag_of(schedule, each.task);
    const std::string micro_batch =
        lag > 0 ? counted(lag, "step") + " ago" : std::to_string(each.task.micro_batch);
    fmt::print("{:>5}  {:>11}  {:<12} {:<{}} {}\n", i, micro_batch,
               each.block.empty() ? "all" : each.block, name_of(each.task.kind), width, ready);
  }
}

// Of every stage, one after another.
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
    fmt::print("{}\n",
               json_text(nlohmann::ordered_json{{"version", kJsonVersion}, {"stages", list}}, 2));
  }
}

}  // namespace

void add_bench_step(CLI::App& bench) {
  const auto options = std::make_shared<BenchStepOptions>();
  CLI::App* command = bench.add_subcommand(
      "step", "Training steps on synthetic batches, phase by phase; needs no data");
  add_config_options(*command, options->run, ": model, precision, batch, clip, reduce",
                     "model.precision=bf16")
      ->required();
  add_step_options(*command, "Steps to measure", options->benchmark.steps,
                   options->benchmark.micro_batch_tokens);
  add_length_option(*command, options->benchmark.length);
  command->add_flag("--json", options->json, "Print JSON");
  command->add_flag("--explain", options->explain,
                    "Print the order of work of one step instead: block, micro-batch, direction, "
                    "what becomes ready; of every stage of a pipeline");
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
