#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/text/counts.h"
#include "base/text/json_version.h"
#include "bench/step/overlap_benchmark.h"
#include "cli/bench/bench.h"
#include "cli/bench/schedules/link_options.h"
#include "cli/bench/step/step_options.h"
#include "cli/options/config_options.h"
#include "cli/options/outputs.h"
#include "cli/output/progress.h"
#include "cli/output/write_json.h"
#include "cli/ranks.h"

namespace strata::cli {
namespace {

struct BenchOverlapOptions {
  ConfigOptions run;
  bench::OverlapOptions benchmark;
  LinkOptions link;
  bool json = false;
};

void print_json(const bench::OverlapBenchmark& b) {
  nlohmann::ordered_json result = {{"version", kJsonVersion}, {"device", b.device},
                                   {"ranks", b.ranks},        {"tokens_per_step", b.tokens},
                                   {"buckets", b.buckets},    {"gradient_bytes_per_step", b.bytes}};
  if (b.link) {
    result["emulated_link"] = link_to_json(*b.link);
  }
  for (const bench::ModeOverlap& mode : b.modes) {
    result["modes"].push_back({{"mode", mode.name},
                               {"step_increase", mode.step_increase()},
                               {"step_seconds", mode.step},
                               {"step_seconds_without_communication", mode.step_without_link},
                               {"backward_seconds", mode.backward},
                               {"communication_seconds", mode.communication},
                               {"exposed_communication_seconds", mode.exposed},
                               {"hidden_share", mode.hidden_share()}});
  }
  write_json(result);
}

void print_table(const bench::OverlapBenchmark& b) {
  fmt::print("{}, {}, {} a step\n", b.device, counted(b.ranks, "rank"), counted(b.tokens, "token"));
  fmt::print("{:.1f} MB of gradients a step in {} over {}\n", b.bytes / 1e6,
             counted(b.buckets, "bucket"), describe_link(b.link));
  fmt::print("{:<52}{:>10}{:>9}{:>10}{:>15}{:>10}{:>9}\n", "ms", "increase", "step", "backward",
             "communication", "exposed", "hidden");
  fmt::print("{:<52}{:>10}{:>9.1f}\n", "no communication", "",
             b.modes.front().step_without_link * 1e3);
  for (const bench::ModeOverlap& mode : b.modes) {
    fmt::print("{:<52}{:>+9.1f}%{:>9.1f}{:>10.1f}{:>15.1f}{:>10.1f}{:>8.1f}%\n", mode.name,
               100 * mode.step_increase(), mode.step * 1e3, mode.backward * 1e3,
               mode.communication * 1e3, mode.exposed * 1e3, 100 * mode.hidden_share());
  }
}

}  // namespace

void add_bench_overlap(CLI::App& bench) {
  const auto options = std::make_shared<BenchOverlapOptions>();
  CLI::App* command = bench.add_subcommand("overlap",
                                           "Measure every clip mode's steps over a slow link, and "
                                           "the share of communication that backward hides");
  add_config_options(*command, options->run, ": model, precision, batch, optimizer, reduce",
                     "reduce.dtype=bf16")
      ->required();
  add_step_options(*command, "Number of steps to measure for every mode", options->benchmark.steps,
                   options->benchmark.micro_batch_tokens);
  const AddedLinkOptions link = add_link_options(
      *command, options->link,
      "Speed of the emulated link of every rank in Gbit/s (default: as --share gives it)");
  command
      ->add_option("--share", options->benchmark.communication_share,
                   "Time of the emulated communication, as a share of backward's time")
      ->check(CLI::PositiveNumber)
      ->excludes(link.real_network)
      ->excludes(link.speed)
      ->capture_default_str();
  names_output(command->add_option("--timeline", options->benchmark.timeline,
                                   "Write the last step of every mode as Chrome trace JSON, for "
                                   "ui.perfetto.dev"),
               OutputKind::kFile);
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      "Needs several ranks: scripts/mpirun.sh -n 2 strata bench overlap --config FILE\n"
      "Increase is the time that communication adds to a step.\n"
      "Exposed is the communication after backward while no bucket is clipped or updated.\n"
      "With model.precision fp16, rows `not synced` update before all ranks know that no gradient\n"
      "overflowed. The difference to the row above is the cost of this sync.");
  command->callback([options] {
    on_all_ranks([&](const training::Ranks& ranks) {
      Progress progress("measuring clip modes");
      bench::OverlapOptions benchmark = options->benchmark;
      benchmark.link = options->link.link();
      if (ranks.first()) {
        benchmark.progress = [&](size_t done, size_t total) { progress.update(done, total); };
      }
      const auto config = options->run.load();
      refuse_to_replace(files_read(config), benchmark.timeline, "--timeline");
      const auto result = bench::benchmark_overlap(config, benchmark, ranks);
      if (ranks.first()) options->json ? print_json(result) : print_table(result);
    });
  });
}

}  // namespace strata::cli
