#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/text/counts.h"
#include "base/text/json_version.h"
#include "bench/step/layer_drop_benchmark.h"
#include "cli/bench/bench.h"
#include "cli/bench/step/step_options.h"
#include "cli/options/config_options.h"
#include "cli/output/progress.h"
#include "cli/output/write_json.h"

namespace strata::cli {
namespace {

struct BenchLayerDropOptions {
  ConfigOptions run;
  bench::LayerDropOptions benchmark;
  bool json = false;
};

void print_json(const bench::LayerDropBenchmark& b) {
  const Quartiles ratio = b.time_over_flops();
  auto steps = nlohmann::ordered_json::array();
  for (const bench::LayerDropStep& step : b.steps) {
    steps.push_back({{"step", step.step},
                     {"kept_layers", step.kept},
                     {"encoder_flops", {{"all", step.all_flops}, {"kept", step.kept_flops}}},
                     {"encoder_seconds", {{"all", step.all_seconds}, {"kept", step.kept_seconds}}},
                     {"flops_share", step.flops_share()},
                     {"time_share", step.time_share()}});
  }
  const nlohmann::ordered_json result = {
      {"version", kJsonVersion},
      {"device", b.device},
      {"layers", b.layers},
      {"tokens", b.tokens},
      {"training_steps", b.training_steps},
      {"theta", b.theta},
      {"gamma", b.gamma},
      {"expected_flops_share", b.expected_share},
      {"flops_share", b.flops_share()},
      {"time_share", b.time_share()},
      {"time_over_flops",
       {{"lower_quartile", ratio.lower},
        {"median", ratio.median},
        {"upper_quartile", ratio.upper}}},
      {"layer_seconds", {{"kept", b.kept_layer}, {"dropped", b.dropped_layer}}},
      {"steps", steps}};
  write_json(result);
}

void print_table(const bench::LayerDropBenchmark& b) {
  const Quartiles ratio = b.time_over_flops();
  fmt::print("{}; {}, {}; theta {}, gamma {:.4g}\n", b.device, counted(b.layers, "layer"),
             counted(b.tokens, "token"), b.theta, b.gamma);
  fmt::print("{:>8}{:>8}{:>12}{:>12}{:>18}{:>12}{:>8}\n", "step", "kept", "ms, all", "ms, kept",
             "share of FLOPs", "of time", "ratio");
  for (const bench::LayerDropStep& step : b.steps) {
    fmt::print("{:>8}{:>8}{:>12.1f}{:>12.1f}{:>18.4f}{:>12.4f}{:>8.3f}\n", step.step, step.kept,
               1e3 * step.all_seconds, 1e3 * step.kept_seconds, step.flops_share(),
               step.time_share(), step.time_share() / step.flops_share());
  }
  fmt::print("{:<40}{:>18.4f}{:>12.4f}{:>8.3f}   median; quartiles {:.3f} to {:.3f}\n",
             "these steps", b.flops_share(), b.time_share(), ratio.median, ratio.lower,
             ratio.upper);
  fmt::print("{:<40}{:>18.4f}{:>12.4f}           of time: share of FLOPs times the median above\n",
             fmt::format("all {}, by the closed form", counted(b.training_steps, "step")),
             b.expected_share, b.expected_share * ratio.median);
  fmt::print("a layer takes {:.2f} ms, a dropped one {:.3f} ms\n", 1e3 * b.kept_layer,
             1e3 * b.dropped_layer);
}

}  // namespace

void add_bench_layer_drop(CLI::App& bench) {
  const auto options = std::make_shared<BenchLayerDropOptions>();
  CLI::App* command = bench.add_subcommand(
      "layer_drop",
      "Measure the time that dropped layers save: the encoder's time with and without them, "
      "compared with its FLOPs; needs no data");
  add_config_options(*command, options->run, ": model, precision, batch, schedule, layer_drop",
                     "layer_drop.theta=0.5")
      ->required();
  add_step_options(*command, "Number of steps to measure, evenly over lr_schedule.training_steps",
                   options->benchmark.steps, options->benchmark.micro_batch_tokens);
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      "Every step runs one micro-batch twice, forward and backward, without updates, on one rank:\n"
      "through all layers, and through those that training would keep. The order alternates.\n"
      "Document: docs/methods/layer_dropping.md");
  command->callback([options] {
    Progress progress("measuring steps");
    bench::LayerDropOptions benchmark = options->benchmark;
    benchmark.progress = [&](size_t done, size_t total) { progress.update(done, total); };
    const auto result = bench::benchmark_layer_drop(options->run.load(), benchmark);
    options->json ? print_json(result) : print_table(result);
  });
}

}  // namespace strata::cli
