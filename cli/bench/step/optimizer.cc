#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/text/json_version.h"
#include "bench/operations/optimizer_benchmark.h"
#include "cli/bench/bench.h"
#include "cli/output/write_json.h"
#include "config/run_config_names.h"
#include "harness/progress.h"

namespace strata::cli {
namespace {

struct BenchOptimizerOptions {
  std::string config;
  std::string model = "bert-large";
  std::string optimizer, precision;  // empty: as configured
  int threads = 0;                   // 0: as configured
  int rounds = 11;
  bool json = false;
};

// Sets `value` unless `name` is empty.
template <typename Enum>
void choose(const std::string& name, Enum& value) {
  value = config::choice_named<Enum>(name).value_or(value);
}

config::RunConfig run_config(const BenchOptimizerOptions& options) {
  config::RunConfig config;
  if (options.config.empty()) {
    config.model.config = options.model;
  } else {
    config = config::load_run_config(options.config);
  }
  choose(options.optimizer, config.optimizer.name);
  choose(options.precision, config.model.precision);
  if (options.threads > 0) config.device.threads = options.threads;
  return config;
}

void print_json(const config::RunConfig& config, const bench::OptimizerBenchmark& b) {
  const nlohmann::ordered_json result = {{"version", kJsonVersion},
                                         {"device", b.device},
                                         {"optimizer", name_of(config.optimizer.name)},
                                         {"parameters", b.parameters},
                                         {"memory_bytes", b.memory_bytes},
                                         {"update_bytes", b.update_bytes},
                                         {"seconds",
                                          {{"norm", b.norm},
                                           {"update", b.update},
                                           {"norm_and_update", b.norm_and_update},
                                           {"plain", b.plain}}},
                                         {"update_bytes_per_second", b.update_bytes_per_second()},
                                         {"plain_bytes_per_second", b.plain_bytes_per_second()},
                                         {"share_of_plain", b.share_of_plain()}};
  write_json(result);
}

void print_table(const config::RunConfig& config, const bench::OptimizerBenchmark& b) {
  fmt::print("{}\n", b.device);
  fmt::print("{}, {:.1f} M parameters, {:.1f} bytes read and written for each\n",
             name_of(config.optimizer.name), static_cast<double>(b.parameters) / 1e6,
             static_cast<double>(b.update_bytes) / static_cast<double>(b.parameters));
  fmt::print("norm            {:9.2f} ms\n", b.norm * 1e3);
  fmt::print("update          {:9.2f} ms  {:7.2f} GB/s   clip, update, compute weights\n",
             b.update * 1e3, b.update_bytes_per_second() / 1e9);
  fmt::print("norm and update {:9.2f} ms\n", b.norm_and_update * 1e3);
  fmt::print("plain loop      {:9.2f} ms  {:7.2f} GB/s   same reads and writes, no arithmetic\n",
             b.plain * 1e3, b.plain_bytes_per_second() / 1e9);
  fmt::print("update / plain  {:9.1f} %              of the plain loop's bandwidth\n",
             100 * b.share_of_plain());
}

void run(const BenchOptimizerOptions& options) {
  const config::RunConfig config = run_config(options);
  harness::Progress progress({.label = "bench", .unit = "rounds", .total_steps = options.rounds});
  progress.print(fmt::format("{}: {:.0f} MB of memory", config.model.config,
                             static_cast<double>(bench::optimizer_benchmark_bytes(config)) / 1e6));
  const auto result = bench::benchmark_optimizer(
      config, options.rounds, [&](int done) { progress.update({.step = done, .items = done}); });
  progress.finish();
  options.json ? print_json(config, result) : print_table(config, result);
}

}  // namespace

void add_bench_optimizer(CLI::App& bench) {
  const auto options = std::make_shared<BenchOptimizerOptions>();
  CLI::App* command = bench.add_subcommand(
      "optimizer",
      "Measure the optimizer's pass over a whole model, in rounds that alternate with a plain loop "
      "over the same memory; needs no data. bert-large takes 6 GB of memory, 18 bytes per "
      "parameter; with madgrad 7 GB");
  CLI::Option* model = command
                           ->add_option("--model", options->model,
                                        "bert-large, minilm, tiny, or a model's config.json. A "
                                        "model that fits into the caches measures the caches")
                           ->capture_default_str();
  command
      ->add_option("--config", options->config,
                   "A run's YAML file: model, precision, threads, optimizer")
      ->excludes(model);
  command
      ->add_option("--optimizer", options->optimizer,
                   "Optimizer, instead of the configuration's (default: adam)")
      ->check(CLI::IsMember(config::names_of_choices<config::OptimizerKind>()));
  command
      ->add_option(
          "--precision", options->precision,
          "Precision of the weights for computing, instead of the configuration's (default: auto)")
      ->check(CLI::IsMember(config::names_of_choices<config::Precision>()));
  command->add_option("--threads", options->threads, "Threads (default: one per processor)")
      ->check(CLI::Range(1, 4096));
  command
      ->add_option("--rounds", options->rounds,
                   "Number of rounds to measure, after one unmeasured round")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] { run(*options); });
}

}  // namespace strata::cli
