#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/text/counts.h"
#include "base/text/json_version.h"
#include "bench/accumulation/accumulated_evaluation.h"
#include "bench/accumulation/accumulation_benchmark.h"
#include "cli/bench/bench.h"
#include "cli/options/config_options.h"
#include "cli/output/write_json.h"
#include "harness/progress.h"

namespace strata::cli {
namespace {

using bench::AccumulationBenchmark;

struct BenchAccumulationOptions {
  bench::AccumulationOptions benchmark;
  ConfigOptions run;
  std::string checkpoint;
  int64_t samples = 0;  // 0: all
  bool json = false;
};

std::string chunks_text(int64_t chunk) {
  return chunk == 0 ? "in a row" : fmt::format("chunks of {}", chunk);
}

void print_evaluations(const std::vector<bench::AccumulatedEvaluation>& evaluations, bool json) {
  if (json) {
    auto lines = nlohmann::ordered_json::array();
    for (const auto& [accumulator, samples, losses] : evaluations) {
      lines.push_back({{"mantissa_bits", nullptr},
                       {"chunk", accumulator.chunk},
                       {"accuracy", losses.masked_lm_accuracy()},
                       {"correct", losses.masked_lm.correct},
                       {"total", losses.masked_lm.count},
                       {"loss", losses.masked_lm.mean()}});
      const int bits = accumulator.mantissa_bits;
      if (bits > 0) lines.back()["mantissa_bits"] = bits;
    }
    const nlohmann::ordered_json result = {{"version", kJsonVersion},
                                           {"samples", evaluations.front().samples},
                                           {"evaluations", lines}};
    write_json(result);
    return;
  }
  fmt::print("masked-LM accuracy over {}, sums of bf16 products in linear layers\n",
             counted(evaluations.front().samples, "sample"));
  fmt::print("{:>8}{:>16}{:>12}{:>12}{:>10}\n", "mantissa", "", "accuracy", "of", "loss");
  for (const auto& [accumulator, samples, losses] : evaluations) {
    const int bits = accumulator.mantissa_bits;
    fmt::print("{:>8}{:>16}{:>12.4f}{:>12}{:>10.4f}\n", bits == 0 ? "exact" : std::to_string(bits),
               bits == 0 ? "" : chunks_text(accumulator.chunk), losses.masked_lm_accuracy(),
               losses.masked_lm.count, losses.masked_lm.mean());
  }
}

void print_json(const AccumulationBenchmark& b, const BenchAccumulationOptions& options) {
  using Json = nlohmann::ordered_json;
  Json sums = Json::array(), retention = Json::array(), all_reduces = Json::array();
  for (const auto& line : b.sums) {
    sums.push_back({{"mantissa_bits", line.mantissa_bits},
                    {"terms", line.terms},
                    {"chunk", line.chunk},
                    {"relative_rms_error", line.error},
                    {"closed_form", line.closed_form}});
  }
  for (const auto& line : b.retention) {
    retention.push_back({{"mantissa_bits", line.mantissa_bits},
                         {"terms", line.terms},
                         {"chunk", line.chunk},
                         {"variance_retention_ratio", line.ratio},
                         {"standard_error", line.uncertainty},
                         {"retained", line.retained()},
                         {"uncertain", line.uncertain()}});
  }
  for (const auto& line : b.all_reduces) {
    all_reduces.push_back({{"ranks", line.ranks},
                           {"bytes_sent_per_element", line.bytes_per_element},
                           {"rounded_once", line.once},
                           {"row", line.row},
                           {"row_closed_form", line.row_closed_form},
                           {"two_levels", line.two_levels},
                           {"two_levels_closed_form", line.two_levels_closed_form},
                           {"chunks_of_4", line.chunked},
                           {"chunks_of_4_closed_form", line.chunked_closed_form}});
  }
  write_json(Json{{"version", kJsonVersion},
                  {"trials", options.benchmark.trials},
                  {"seed", options.benchmark.seed},
                  {"sums", sums},
                  {"variance_retention", retention},
                  {"bf16_all_reduce", all_reduces}});
}

std::string percent(double error) { return fmt::format("{:.3g} %", 100 * error); }

// Formats "measured (deviation from the closed form)".
std::string beside(double measured, double closed_form) {
  return fmt::format("{} ({:+.0f} %)", percent(measured), 100 * (measured / closed_form - 1));
}

// Prints a row for every number of mantissa bits, with a column for every other setting.
template <typename Line>
void print_by_mantissa(const std::vector<Line>& lines, int width, const auto& column,
                       const auto& cell) {
  fmt::print("{:>8}", "mantissa");
  for (const Line& line : lines) {
    if (line.mantissa_bits != lines.front().mantissa_bits) break;
    fmt::print("{:>{}}", column(line), width);
  }
  int bits = 0;
  for (const Line& line : lines) {
    if (line.mantissa_bits != bits) fmt::print("\n{:>8}", bits = line.mantissa_bits);
    fmt::print("{:>{}}", cell(line), width);
  }
  fmt::print("\n\n");
}

void print_sums(const AccumulationBenchmark& b) {
  fmt::print("rms error of a sum of {}, and its deviation from the closed form\n",
             counted(b.sums.front().terms, "term"));
  print_by_mantissa(
      b.sums, 18, [](const auto& line) { return chunks_text(line.chunk); },
      [](const auto& line) { return beside(line.error, line.closed_form); });
}

void print_retention(const AccumulationBenchmark& b) {
  fmt::print(
      "variance of rounded sums over that of exact sums; *: a sum of n terms loses too much of it "
      "(e^(n (1 - ratio)) >= 50, see docs/methods/accumulation.md), ?: too few draws to decide\n");
  print_by_mantissa(
      b.retention, 14,
      [](const auto& line) {
        return line.chunk == 0 ? fmt::format("n = {}", line.terms)
                               : fmt::format("chunks of {}", line.chunk);
      },
      [](const auto& line) {
        return fmt::format("{:.4f} {}", line.ratio,
                           line.uncertain()  ? '?'
                           : line.retained() ? ' '
                                             : '*');
      });
}

void print_all_reduces(const AccumulationBenchmark& b) {
  fmt::print(
      "all-reduce of bf16 over simulated ranks: rms error, and its deviation from the closed "
      "form\n");
  fmt::print("{:>6}{:>12}{:>14}{:>18}{:>18}{:>18}{:>12}\n", "ranks", "B/element", "rounded once",
             "in a row", "chunks of sqrt n", "chunks of 4", "chunks / row");
  for (const auto& line : b.all_reduces) {
    fmt::print("{:>6}{:>12}{:>14}{:>18}{:>18}{:>18}{:>12.3f}\n", line.ranks,
               fmt::format("{:.3f}", line.bytes_per_element), percent(line.once),
               beside(line.row, line.row_closed_form),
               beside(line.two_levels, line.two_levels_closed_form),
               beside(line.chunked, line.chunked_closed_form), line.chunked / line.row);
  }
}

void run(BenchAccumulationOptions& options) {
  std::optional<harness::Progress> progress;
  options.benchmark.progress = [&](int done, int of) {
    if (!progress) {
      progress.emplace(
          harness::ProgressOptions{.label = "bench", .unit = "parts", .total_steps = of});
    }
    progress->update({.step = done, .items = done});
  };
  if (!options.run.config.empty()) {
    config::RunConfig config = options.run.load();
    if (!options.checkpoint.empty()) {
      config.model.checkpoint = std::filesystem::absolute(options.checkpoint);
    }
    const auto evaluations =
        bench::evaluate_accumulators(config, options.samples, options.benchmark.progress);
    progress->finish();
    return print_evaluations(evaluations, options.json);
  }
  const auto result = bench::benchmark_accumulation(options.benchmark);
  progress->finish();
  if (options.json) return print_json(result, options);
  print_sums(result);
  print_retention(result);
  print_all_reduces(result);
}

}  // namespace

void add_bench_accumulation(CLI::App& bench) {
  const auto options = std::make_shared<BenchAccumulationOptions>();
  CLI::App* command = bench.add_subcommand(
      "accumulation",
      "Measure the error of sums with few mantissa bits, added in a row or in chunks, and of an "
      "all-reduce in bf16 (reduce.accumulate), and compare it with closed forms; needs no data. "
      "With --config: measure the accuracy of a trained model whose linear layers add up in this "
      "way");
  CLI::Option* config = add_config_options(
      *command, options->run, ": model, data.eval, batch.micro_batch", "device.threads=4");
  command
      ->add_option("--checkpoint", options->checkpoint,
                   "Weights to use instead of model.checkpoint")
      ->needs(config);
  command
      ->add_option("--samples", options->samples,
                   "Number of samples from the start of data.eval; all samples of the quickstart "
                   "take ten minutes per line on one core")
      ->check(CLI::PositiveNumber)
      ->needs(config);
  command
      ->add_option("--trials", options->benchmark.trials,
                   "Number of sums drawn for each figure; 2000 take about ten seconds")
      ->check(CLI::Range(2, 1000000))
      ->excludes(config)
      ->capture_default_str();
  command->add_option("--seed", options->benchmark.seed, "Seed of the draws")
      ->excludes(config)
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] { run(*options); });
}

}  // namespace strata::cli
