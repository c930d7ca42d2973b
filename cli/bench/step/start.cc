#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/counts.h"
#include "base/text/json_version.h"
#include "bench/step/start_benchmark.h"
#include "cli/bench/bench.h"
#include "cli/options/config_options.h"
#include "cli/output/write_json.h"

namespace strata::cli {
namespace {

struct BenchStartOptions {
  ConfigOptions run;
  bench::StartOptions benchmark;
  bool json = false;
};

void print_json(const bench::StartBenchmark& b, const BenchStartOptions& options) {
  const nlohmann::ordered_json json = {{"version", kJsonVersion},
                                       {"samples", options.benchmark.samples},
                                       {"ranks", options.benchmark.ranks},
                                       {"index_bytes", b.index_bytes},
                                       {"masked_positions_of_the_first_step", b.masked},
                                       {"make_index_seconds", b.make},
                                       {"open_index_seconds", b.open},
                                       {"plan_seconds", b.plan},
                                       {"find_samples_seconds", b.find},
                                       {"read_samples_seconds", b.read},
                                       {"start_seconds", b.start()}};
  write_json(json);
}

void print_table(const bench::StartBenchmark& b, const BenchStartOptions& options) {
  fmt::print("{}, {}; an index of {:.1f} MB, written in {:.1f} s\n",
             counted(options.benchmark.samples, "sample"), counted(options.benchmark.ranks, "rank"),
             static_cast<double>(b.index_bytes) / 1e6, b.make);
  fmt::print("open the index        {:8.1f} ms\n", 1e3 * b.open);
  fmt::print("plan the first step   {:8.1f} ms\n", 1e3 * b.plan);
  fmt::print("find a rank's samples {:8.1f} ms\n", 1e3 * b.find);
  fmt::print("read them             {:8.1f} ms\n", 1e3 * b.read);
  fmt::print("start to first batch  {:8.1f} ms\n", 1e3 * b.start());
}

}  // namespace

void add_bench_start(CLI::App& bench) {
  const auto options = std::make_shared<BenchStartOptions>();
  CLI::App* command = bench.add_subcommand(
      "start",
      "Measure the time from run_start to the first batch, on a synthetic index of any size");
  add_config_options(*command, options->run, ": batch", "batch.load_balance.strategy=planned")
      ->required();
  command->add_option("--samples", options->benchmark.samples, "Number of training samples")
      ->check(CLI::Range(1000000u, 4000000000u))
      ->capture_default_str();
  command->add_option("--ranks", options->benchmark.ranks, "Number of ranks of the job")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command
      ->add_option("--folder", options->benchmark.folder,
                   "Folder for the index during the measurement; 8 bytes per sample")
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      "The files are dropped from the page cache first, so that a local disk is measured.");
  command->callback([options] {
    options->benchmark.progress = [](const std::string& phase) { print_to_stderr("{}\n", phase); };
    const auto result = bench::benchmark_start(options->run.load(), options->benchmark);
    options->json ? print_json(result, *options) : print_table(result, *options);
  });
}

}  // namespace strata::cli
