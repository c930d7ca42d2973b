#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/files/files.h"
#include "base/text/counts.h"
#include "base/text/json.h"
#include "base/text/json_version.h"
#include "bench/step/cost_benchmark.h"
#include "cli/bench/bench.h"
#include "cli/options/config_options.h"
#include "cli/options/outputs.h"
#include "cli/output/progress.h"
#include "cli/ranks.h"

namespace strata::cli {
namespace {

struct BenchCostOptions {
  ConfigOptions run;
  bench::CostBenchmarkOptions benchmark;
  std::string out;
  bool json = false;
};

std::string to_json(const bench::CostBenchmark& b, const config::RunConfig& config) {
  nlohmann::ordered_json batches = nlohmann::ordered_json::array();
  for (const bench::EqualBatch& batch : b.batches) {
    batches.push_back({{"length", batch.length},
                       {"samples", batch.samples},
                       {"seconds", batch.seconds},
                       {"relative_error_of_fit", b.relative_error(batch)}});
  }
  const nlohmann::ordered_json result = {{"version", kJsonVersion},
                                         {"device", b.device},
                                         {"ranks", b.ranks},
                                         {"model", config.model.config},
                                         {"linear", b.fit.cost.linear},
                                         {"quadratic", b.fit.cost.quadratic},
                                         {"seconds_per_batch", b.fit.fixed},
                                         {"batches", batches}};
  return json_text(result, 2) + "\n";
}

void print_table(const bench::CostBenchmark& b) {
  fmt::print("{}, {}\n", b.device, counted(b.ranks, "rank"));
  fmt::print("length  samples  measured ms    fit ms   error\n");
  for (const bench::EqualBatch& batch : b.batches) {
    fmt::print("{:6}  {:7}  {:11.2f}  {:8.2f}  {:+5.1f} %\n", batch.length, batch.samples,
               1e3 * batch.seconds, 1e3 * b.fit.seconds(batch.time()),
               100 * b.relative_error(batch));
  }
  fmt::print("a sample of s tokens adds a * s + b * s^2 seconds, forward and backward\n");
  fmt::print("a           {:.4g}\n", b.fit.cost.linear);
  fmt::print("b           {:.4g}\n", b.fit.cost.quadratic);
  fmt::print("b / a       {:.4g}\n", b.fit.cost.quadratic / b.fit.cost.linear);
  fmt::print("per batch   {:.4g} s, whatever its size\n", b.fit.fixed);
}

void measure(const BenchCostOptions& options, const training::Ranks& ranks) {
  const auto config = options.run.load();
  refuse_to_replace(files_read(config), options.out, "--out");
  Progress progress("measuring batches");
  bench::CostBenchmarkOptions benchmark = options.benchmark;
  if (ranks.first()) {
    benchmark.progress = [&](size_t done, size_t total) { progress.update(done, total); };
  }
  const bench::CostBenchmark result = bench::benchmark_costs(config, benchmark, ranks);
  if (!ranks.first()) return;
  const std::string json = to_json(result, config);
  if (!options.out.empty()) write_file_atomically(options.out, json);
  if (options.json) {
    fmt::print("{}", json);
    return;
  }
  print_table(result);
  if (!options.out.empty()) {
    fmt::print("written to {0}; use it with --set batch.load_balance.cost={0}\n", options.out);
  }
}

}  // namespace

void add_bench_cost(CLI::App& bench) {
  const auto options = std::make_shared<BenchCostOptions>();
  CLI::App* command =
      bench.add_subcommand("cost",
                           "Fit a sample's seconds as a * s + b * s^2, where s is its length, for "
                           "the load-balance strategy 'planned'; needs no data");
  add_config_options(*command, options->run, ": model, precision, device", "model.precision=bf16")
      ->required();
  command
      ->add_option("--rounds", options->benchmark.rounds,
                   "Number of measurements of every batch; their medians are fitted")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  command
      ->add_option("--tokens", options->benchmark.micro_batch_tokens,
                   "Tokens of a batch, instead of batch.micro_batch full sequences")
      ->check(CLI::Range(1, 1 << 24));
  names_output(command->add_option("--out", options->out,
                                   "Write the result to this file, for batch.load_balance.cost"),
               OutputKind::kFile);
  command->add_flag("--json", options->json, "Print JSON");
  command->callback(
      [options] { on_all_ranks([&](const training::Ranks& ranks) { measure(*options, ranks); }); });
}

}  // namespace strata::cli
