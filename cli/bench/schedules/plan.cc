#include <fmt/format.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/text/counts.h"
#include "base/text/json_version.h"
#include "bench/schedules/plan_benchmark.h"
#include "cli/bench/bench.h"
#include "cli/bench/schedules/link_options.h"
#include "cli/options/config_options.h"
#include "cli/output/progress.h"
#include "cli/output/write_json.h"
#include "cli/ranks.h"

namespace strata::cli {
namespace {

using nlohmann::ordered_json;

struct BenchPlanOptions {
  ConfigOptions run;
  bench::PlanBenchmarkOptions benchmark{.micro_batch_tokens = 512};
  std::vector<double> gigabits;
  double sleeping_gigaflops = 0;
  bool json = false;
};

constexpr auto kSimulation = &bench::PlannedStep::simulation_error;

double gigabits(double bytes_per_second) { return bytes_per_second / kBytesPerGigabit; }

ordered_json to_json(const bench::PlanDeviation& deviation, size_t steps) {
  return {{"steps", steps}, {"median", deviation.median}, {"worst", deviation.worst}};
}

void print_json(const bench::PlanBenchmark& b) {
  ordered_json calibrated = ordered_json::array(), steps = calibrated, skipped = calibrated;
  for (const plan::MeasuredStep& step : b.calibrated) {
    calibrated.push_back({{"name", step.name}, {"samples", step.batch}, {"seconds", step.seconds}});
  }
  for (const bench::PlannedStep& step : b.steps) {
    const plan::StepTime& time = step.predicted;
    steps.push_back({{"schedule", step.name},
                     {"clip", config::name_of(step.clip)},
                     {"ranks", step.ranks},
                     {"micro_batches", step.micro_batches},
                     {"gigabits_per_second", gigabits(step.bytes_per_second)},
                     {"measured_seconds", step.measured},
                     {"predicted_seconds",
                      {{"total", time.total()},
                       {"compute", time.compute},
                       {"constant", time.constant},
                       {"bubble", time.bubble},
                       {"exposed", time.exposed}}},
                     {"error", step.error()},
                     {"simulated_seconds", step.simulated},
                     {"simulation_error", step.simulation_error()}});
  }
  for (const bench::Skipped& each : b.skipped) {
    skipped.push_back({{"schedule", each.name}, {"reason", each.reason}});
  }
  const ordered_json result = {
      {"version", kJsonVersion},
      {"device", b.device},
      {"micro_batch_tokens", b.micro_batch_tokens},
      {"parameters", b.shape.parameters},
      {"calibrated", calibrated},
      {"seconds_a_sample", b.calibration.costs.per_sample},
      {"seconds_a_step", b.calibration.costs.per_step},
      {"seconds_a_message", b.message_seconds},
      {"steps", steps},
      {"skipped", skipped},
      {"summary", to_json(bench::deviation_of(b.steps), b.steps.size())},
      {"simulation_summary", to_json(bench::deviation_of(b.steps, kSimulation), b.steps.size())}};
  write_json(result);
}

using Groups = std::vector<std::pair<std::string, std::vector<bench::PlannedStep>>>;

// Groups the steps by key, in the order in which keys first occur.
template <typename Key>
Groups grouped(const std::vector<bench::PlannedStep>& steps, const Key& key) {
  Groups groups;
  std::map<std::string, size_t> places;
  for (const bench::PlannedStep& step : steps) {
    const auto [place, first] = places.try_emplace(key(step), groups.size());
    if (first) groups.push_back({place->first, {}});
    groups[place->second].second.push_back(step);
  }
  return groups;
}

void print_summary(const char* what, const Groups& groups) {
  fmt::print("\n{:<34}{:>7}{:>11}{:>10}{:>21}{:>10}\n", what, "steps", "median %", "worst %",
             "simulated, median %", "worst %");
  for (const auto& [name, steps] : groups) {
    const bench::PlanDeviation deviation = bench::deviation_of(steps);
    const bench::PlanDeviation simulated = bench::deviation_of(steps, kSimulation);
    fmt::print("{:<34}{:>7}{:>11.1f}{:>10.1f}{:>21.1f}{:>10.1f}\n", name, steps.size(),
               100 * deviation.median, 100 * deviation.worst, 100 * simulated.median,
               100 * simulated.worst);
  }
}

void print_table(const bench::PlanBenchmark& b) {
  fmt::print("{}\nmicro-batches of {}, {:.2f} million parameters\n", b.device,
             counted(b.micro_batch_tokens, "token"), 1e-6 * b.shape.parameters);
  for (const plan::MeasuredStep& step : b.calibrated) {
    fmt::print("calibrated from {}: {:.2f} ms a step\n", step.name, step.seconds * 1e3);
  }
  fmt::print(
      "{} take {:.3f} ms; each step takes {:.3f} ms more, and each message {:.3f} ms more "
      "than its bytes take on the link\n"
      "\n",
      counted(bench::kSampleTokens, "token"), b.calibration.costs.per_sample * 1e3,
      b.calibration.costs.per_step * 1e3, b.message_seconds * 1e3);
  fmt::print("{:<35}{:<25}{:>6}{:>14}{:>9}{:>10}{:>11}{:>9}{:>9}{:>8}{:>11}{:>8}\n", "ms", "clip",
             "ranks", "micro-batches", "Gbit/s", "measured", "predicted", "bubble", "exposed",
             "error", "simulated", "error");
  for (const bench::PlannedStep& step : b.steps) {
    fmt::print(
        "{:<35}{:<25}{:>6}{:>14}{:>9.3f}{:>10.1f}{:>11.1f}{:>9.1f}{:>9.1f}{:>+7.1f}%{:>11.1f}"
        "{:>+7.1f}%\n",
        step.name, config::name_of(step.clip), step.ranks, step.micro_batches,
        gigabits(step.bytes_per_second), step.measured * 1e3, step.predicted.total() * 1e3,
        step.predicted.bubble * 1e3, step.predicted.exposed * 1e3, 100 * step.error(),
        step.simulated * 1e3, 100 * step.simulation_error());
  }
  using Step = bench::PlannedStep;
  print_summary("schedule", grouped(b.steps, [](const Step& step) { return step.name; }));
  print_summary("clip", grouped(b.steps, [](const Step& step) {
                  return std::string(config::name_of(step.clip));
                }));
  print_summary("ranks",
                grouped(b.steps, [](const Step& step) { return std::to_string(step.ranks); }));
  print_summary("micro-batches", grouped(b.steps, [](const Step& step) {
                  return std::to_string(step.micro_batches);
                }));
  print_summary("Gbit/s", grouped(b.steps, [](const Step& step) {
                  return fmt::format("{:.3f}", gigabits(step.bytes_per_second));
                }));
  print_summary("", {{"all", b.steps}});
  for (const bench::Skipped& each : b.skipped) {
    fmt::print("skipped: {}: {}\n", each.name, each.reason);
  }
}

}  // namespace

void add_bench_plan(CLI::App& bench) {
  const auto options = std::make_shared<BenchPlanOptions>();
  CLI::App* command = bench.add_subcommand("plan",
                                           "Compare the step times that 'strata plan' predicts "
                                           "from steps of one rank with measured times");
  add_config_options(*command, options->run, ": model, precision, batch, optimizer, reduce",
                     "reduce.dtype=bf16")
      ->required();
  command
      ->add_option("--steps", options->benchmark.steps,
                   "Number of steps to measure for every layout")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_option("--tokens", options->benchmark.micro_batch_tokens, "Tokens of a micro-batch")
      ->check(CLI::Range(3, 1 << 24))
      ->capture_default_str();
  add_sleep_option(*command, options->sleeping_gigaflops);
  command
      ->add_option("--ranks", options->benchmark.ranks,
                   "Numbers of ranks (default: from 1 to all ranks of the job)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20));
  command
      ->add_option("--accumulation", options->benchmark.micro_batches, "Numbers of micro-batches")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 10))
      ->default_str("1,2,4,8");
  command
      ->add_option(
          "--gbits", options->gigabits,
          "Speeds of the emulated link of every rank in Gbit/s (default: the speeds at which the "
          "all-reduce of two ranks takes 2, 1 and 0.1 times a micro-batch's backward)")
      ->delimiter(',')
      ->check(a_speed());
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      "Needs several ranks: scripts/mpirun.sh -n 4 strata bench plan --config FILE --sleep 300\n"
      "Calibrates from one rank at two batch sizes, and measures every schedule with every clip\n"
      "mode that it allows. Error: predicted / measured - 1.");
  command->callback([options] {
    on_all_ranks([&](const training::Ranks& ranks) {
      Progress progress("measuring steps");
      bench::PlanBenchmarkOptions benchmark = options->benchmark;
      benchmark.sleeping_flops = 1e9 * options->sleeping_gigaflops;
      for (const double speed : options->gigabits) {
        benchmark.speeds.push_back(speed * kBytesPerGigabit);
      }
      if (ranks.first()) {
        benchmark.progress = [&](size_t done, size_t total) { progress.update(done, total); };
      }
      const auto result = bench::benchmark_plan(options->run.load(), benchmark, ranks);
      if (ranks.first()) options->json ? print_json(result) : print_table(result);
    });
  });
}

}  // namespace strata::cli
