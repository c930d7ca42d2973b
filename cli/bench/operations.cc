#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/counts.h"
#include "base/text/json_version.h"
#include "bench/operations/operations_benchmark.h"
#include "cli/bench/bench.h"
#include "cli/bench/step/step_options.h"
#include "cli/options/config_options.h"
#include "cli/output/write_json.h"
#include "cli/ranks.h"

namespace strata::cli {
namespace {

struct BenchOperationsOptions {
  ConfigOptions run;
  bench::OperationsBenchmarkOptions benchmark;
  bool json = false;
};

nlohmann::ordered_json range(const Quartiles& rounds) { return {rounds.lower, rounds.upper}; }

void print_json(const bench::OperationsBenchmark& b) {
  nlohmann::ordered_json operations = nlohmann::ordered_json::array();
  for (const bench::OperationTime& o : b.operations) {
    operations.push_back({{"operation", o.operation},
                          {"where", o.where},
                          {"per_step", o.per_step},
                          {"seconds", o.seconds},
                          {"seconds_quartiles", range(o.rounds)},
                          {"unsteady", o.rounds.unsteady()},
                          {"flops", o.flops},
                          {"bytes", o.bytes},
                          {"share_of_peak", b.share_of_peak(o)}});
  }
  const nlohmann::ordered_json result = {
      {"version", kJsonVersion},
      {"device", b.device},
      {"lengths", b.lengths},
      {"tokens", b.tokens},
      {"matrix_peak_flops_per_second", b.matrix_peak_flops_per_second},
      {"matrix_peak_quartiles", range(b.matrix_peak_rounds)},
      {"copy_peak_bytes_per_second", b.copy_peak_bytes_per_second},
      {"copy_peak_quartiles", range(b.copy_peak_rounds)},
      {"operations", operations}};
  write_json(result);
}

void print_table(const bench::OperationsBenchmark& b) {
  fmt::print("{}; {}, {}\n", b.device, counted(b.lengths.size(), "sequence"),
             counted(b.tokens, "token"));
  fmt::print("{:<62}{:>8}{:>11}{:>23}{:>11}{:>10}{:>10}\n", "operation", "a step", "ms once",
             "quartiles", "GFLOP/s", "GB/s", "of peak");
  double step = 0;
  size_t unsteady = 0;
  const auto mark = [&](const Quartiles& rounds) {
    unsteady += rounds.unsteady() ? 1 : 0;
    return rounds.unsteady() ? "  unsteady" : "";
  };
  for (const bench::OperationTime& o : b.operations) {
    step += static_cast<double>(o.per_step) * o.seconds;
    const std::string rate =
        o.flops > 0 ? fmt::format("{:.0f}", 1e-9 * o.flops / o.seconds) : std::string("-");
    const std::string quartiles =
        fmt::format("{:.4f} to {:.4f}", 1e3 * o.rounds.lower, 1e3 * o.rounds.upper);
    fmt::print("{:<62}{:>8}{:>11.4f}{:>23}{:>11}{:>10.1f}{:>8.1f} %{}\n",
               o.where.empty() ? o.operation : fmt::format("{} ({})", o.operation, o.where),
               o.per_step, 1e3 * o.seconds, quartiles, rate, 1e-9 * o.bytes / o.seconds,
               100 * b.share_of_peak(o), mark(o.rounds));
  }
  fmt::print("{:<62}{:>8}{:>11.2f}\n", "all of these in one step", "", 1e3 * step);
  const Quartiles &matrix = b.matrix_peak_rounds, &copy = b.copy_peak_rounds;
  fmt::print("matrix peak {:.0f} GFLOP/s ({:.0f} to {:.0f}; GEMMs of {} x {}){}\n",
             1e-9 * b.matrix_peak_flops_per_second, 1e-9 * matrix.lower, 1e-9 * matrix.upper,
             b.matrix_peak_size, b.matrix_peak_size, mark(matrix));
  fmt::print("copy peak {:.1f} GB/s ({:.1f} to {:.1f}){}\n", 1e-9 * b.copy_peak_bytes_per_second,
             1e-9 * copy.lower, 1e-9 * copy.upper, mark(copy));
  if (unsteady > 0) {
    fmt::print(
        "{} unsteady: the quartiles of the rounds differ by more than 10 % of the median; measure "
        "again on an idle machine, or with more --steps\n",
        counted(unsteady, "number"));
  }
}

}  // namespace

void add_bench_operations(CLI::App& bench) {
  const auto options = std::make_shared<BenchOperationsOptions>();
  CLI::App* command =
      bench.add_subcommand("operations",
                           "Measure every operation of the backend on the model's shapes, against "
                           "the device's matrix and copy peaks; needs no data");
  add_config_options(*command, options->run, ": model, precision, batch, device",
                     "model.precision=bf16")
      ->required();
  add_step_options(*command, "Number of rounds of every operation", options->benchmark.rounds,
                   options->benchmark.micro_batch_tokens);
  add_length_option(*command, options->benchmark.length);
  command->add_option(
      "--only", options->benchmark.only,
      "Measure only operations whose names begin with this text, for example attention");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] {
    on_all_ranks([&](const training::Ranks& ranks) {
      const auto result = bench::benchmark_operations(
          options->run.load(), options->benchmark, ranks,
          [](const std::string& next) { print_to_stderr("measuring {}\n", next); });
      options->json ? print_json(result) : print_table(result);
    });
  });
}

}  // namespace strata::cli
