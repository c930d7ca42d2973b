#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "bench/schedule_benchmark.h"
#include "cli/bench/bench.h"
#include "cli/bench/link_options.h"
#include "cli/bench/step_options.h"
#include "cli/config_options.h"
#include "cli/progress.h"
#include "cli/ranks.h"

namespace strata::cli {
namespace {

struct BenchScheduleOptions {
  ConfigOptions run;
  bench::ScheduleOptions benchmark;
  LinkOptions link{.gigabits_per_second = 1};
  double sleeping_gigaflops = 0;
  bool json = false;
};

nlohmann::ordered_json to_json(const bench::Compared& value) {
  return {
      {"measured", value.measured}, {"formula", value.formula}, {"deviation", value.deviation()}};
}

void print_json(const bench::ScheduleBenchmark& b) {
  nlohmann::ordered_json result = {
      {"device", b.device},          {"ranks", b.ranks},     {"micro_batches", b.micro_batches},
      {"tokens_per_step", b.tokens}, {"buckets", b.buckets}, {"gradient_bytes_per_step", b.bytes}};
  if (b.link) {
    result["emulated_link"] = link_to_json(*b.link);
  }
  for (const bench::OrderMeasurement& order : b.orders) {
    result["orders"].push_back({{"order", order.name},
                                {"step_increase", order.step_increase()},
                                {"step_seconds", order.step},
                                {"step_seconds_without_communication", order.step_without_link},
                                {"forward_seconds", order.forward},
                                {"backward_seconds", order.backward},
                                {"backward_seconds_beside_communication", order.hides},
                                {"tail_share", order.tail},
                                {"communication_seconds", to_json(order.communication)},
                                {"exposed_communication_seconds", to_json(order.exposed)},
                                {"activation_bytes", to_json(order.activations)},
                                {"memory_bytes", order.all_memory}});
  }
  fmt::print("{}\n", result.dump(2));
}

void print_table(const bench::ScheduleBenchmark& b) {
  fmt::print("{}\n{} ranks, {} micro-batches of {} tokens\n", b.device, b.ranks, b.micro_batches,
             b.tokens / b.ranks / b.micro_batches);
  fmt::print("{:.1f} MB of gradients a step in {} buckets over {}\n", b.bytes / 1e6, b.buckets,
             describe_link(b.link));
  fmt::print("\n{:<25}{:>9}{:>10}{:>10}{:>7}{:>15}{:>10}{:>9}{:>10}\n", "ms", "step", "increase",
             "backward", "tail", "communication", "exposed", "formula", "deviation");
  for (const bench::OrderMeasurement& order : b.orders) {
    fmt::print("{:<25}{:>9.1f}{:>+9.1f}%{:>10.1f}{:>6.1f}%{:>15.1f}{:>10.1f}{:>9.1f}{:>+9.1f}%\n",
               order.name, order.step * 1e3, 100 * order.step_increase(), order.backward * 1e3,
               100 * order.tail, order.communication.measured * 1e3, order.exposed.measured * 1e3,
               order.exposed.formula * 1e3, 100 * order.exposed.deviation());
  }
  fmt::print("\n{:<25}{:>12}{:>9}{:>10}{:>17}\n", "MB a rank", "activations", "formula",
             "deviation", "all memory");
  for (const bench::OrderMeasurement& order : b.orders) {
    fmt::print("{:<25}{:>12.1f}{:>9.1f}{:>+9.1f}%{:>17.1f}\n", order.name,
               order.activations.measured / 1e6, order.activations.formula / 1e6,
               100 * order.activations.deviation(), order.all_memory / 1e6);
  }
}

}  // namespace

void add_bench_schedule(CLI::App& bench) {
  const auto options = std::make_shared<BenchScheduleOptions>();
  CLI::App* command = bench.add_subcommand(
      "schedule", "Every order of work over the same network, beside what closed forms say");
  add_config_options(*command, options->run, ": model, precision, batch, optimizer, reduce",
                     "batch.gradient_accumulation_steps=4")
      ->required();
  add_step_options(*command, "Steps of every order to measure", options->benchmark.steps,
                   options->benchmark.micro_batch_tokens);
  add_link_options(*command, options->link, "Speed of the emulated link of every rank in Gbit/s")
      .speed->capture_default_str();
  command
      ->add_option("--sleep", options->sleeping_gigaflops,
                   "Compute nothing: a device of so many GFLOP/s, asleep, for ranks without a core "
                   "of their own")
      ->check(CLI::PositiveNumber);
  command->add_option("--timeline", options->benchmark.timeline,
                      "Write the last step of every order as Chrome trace JSON, for "
                      "ui.perfetto.dev");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      "Needs several ranks: scripts/mpirun.sh -n 2 strata bench schedule --config FILE\n"
      "Tail is the share of the gradients that only the last block completes.\n"
      "Exposed is communication left after backward while no bucket is clipped or updated. Its\n"
      "closed form goes bucket by bucket, with layers that take equal parts of backward.");
  command->callback([options] {
    on_all_ranks([&](const training::Ranks& ranks) {
      Progress progress("measuring orders of work");
      bench::ScheduleOptions benchmark = options->benchmark;
      benchmark.link = options->link.link();
      benchmark.sleeping_flops = 1e9 * options->sleeping_gigaflops;
      if (ranks.first()) {
        benchmark.progress = [&](size_t done, size_t total) { progress.update(done, total); };
      }
      const auto result = bench::benchmark_schedules(options->run.load(), benchmark, ranks);
      if (ranks.first()) options->json ? print_json(result) : print_table(result);
    });
  });
}

}  // namespace strata::cli
