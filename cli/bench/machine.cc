#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/counts.h"
#include "base/text/json_version.h"
#include "bench/machine/machine_benchmark.h"
#include "cli/bench/bench.h"
#include "cli/output/write_json.h"
#include "comm/mpi/mpi_runtime.h"

namespace strata::cli {
namespace {

using nlohmann::ordered_json;

struct BenchMachineOptions {
  bench::MachineBenchmarkOptions benchmark;
  std::vector<std::filesystem::path> from;
  bool json = false;
};

std::string name_of(const std::string& model, int64_t tokens) {
  return fmt::format("{}, {} tokens", model, tokens);
}

ordered_json to_json(const bench::MachineBenchmark& b) {
  ordered_json steps = ordered_json::array();
  for (const bench::StepShare& step : b.steps) {
    steps.push_back({{"name", name_of(step.model, step.tokens)},
                     {"model", step.model},
                     {"tokens", step.tokens},
                     {"seconds", step.seconds},
                     {"model_flops_per_second", step.flops_per_second},
                     {"matrix_peak_flops_per_second", step.matrix_peak_flops_per_second},
                     {"share_of_matrix_peak", step.share()}});
  }
  const harness::Machine& machine = b.machine;
  ordered_json libraries = ordered_json::object();
  for (const auto& [name, version] : b.libraries) libraries[name] = version;
  ordered_json peaks = {{"fp32", b.f32_matrix_peak}, {"bf16", nullptr}};
  if (b.bf16_matrix_peak) peaks["bf16"] = *b.bf16_matrix_peak;
  return {{"version", kJsonVersion},
          {"processor",
           {{"model", machine.processor_model},
            {"family", machine.processor_family},
            {"instruction_sets", machine.instruction_sets},
            {"sockets", machine.sockets},
            {"cores", machine.cores},
            {"processors", machine.processors},
            {"caches", machine.caches}}},
          {"memory", machine.memory},
          {"compiler", machine.compiler},
          {"device", b.device},
          {"libraries", libraries},
          {"precision", b.precision},
          {"matrix_peak_flops_per_second", peaks},
          {"copy_peak_bytes_per_second", b.copy_peak},
          {"steps", steps},
          {"attention",
           {{"length", b.attention.length},
            {"head_size", b.attention.head_size},
            {"forward_share_of_matrix_peak", b.attention.forward_share},
            {"backward_share_of_matrix_peak", b.attention.backward_share}}},
          {"optimizer",
           {{"model", b.optimizer.model},
            {"update_bytes_per_second", b.optimizer.bytes_per_second},
            {"plain_bytes_per_second", b.optimizer.plain_bytes_per_second},
            {"share_of_copy_peak", b.optimizer.share_of(b.copy_peak)},
            {"share_of_plain", b.optimizer.share_of_plain()}}}};
}

bench::MachineBenchmark from_json(const ordered_json& json) {
  const ordered_json& processor = json.at("processor");
  const ordered_json& peaks = json.at("matrix_peak_flops_per_second");
  const ordered_json& attention = json.at("attention");
  const ordered_json& optimizer = json.at("optimizer");
  bench::MachineBenchmark b{
      .machine = {.processor_model = processor.at("model"),
                  .processor_family = processor.at("family"),
                  .instruction_sets = processor.at("instruction_sets"),
                  .sockets = processor.at("sockets"),
                  .cores = processor.at("cores"),
                  .processors = processor.at("processors"),
                  .caches = processor.at("caches"),
                  .memory = json.at("memory"),
                  .compiler = json.at("compiler")},
      .device = json.at("device"),
      .precision = json.at("precision"),
      .f32_matrix_peak = peaks.at("fp32"),
      .copy_peak = json.at("copy_peak_bytes_per_second"),
      .attention = {.length = attention.at("length"),
                    .head_size = attention.at("head_size"),
                    .forward_share = attention.at("forward_share_of_matrix_peak"),
                    .backward_share = attention.at("backward_share_of_matrix_peak")},
      .optimizer = {.model = optimizer.at("model"),
                    .bytes_per_second = optimizer.at("update_bytes_per_second"),
                    .plain_bytes_per_second = optimizer.at("plain_bytes_per_second")}};
  if (!peaks.at("bf16").is_null()) b.bf16_matrix_peak = peaks.at("bf16").get<double>();
  for (const auto& [name, version] : json.at("libraries").items()) {
    b.libraries.emplace_back(name, version.get<std::string>());
  }
  for (const ordered_json& step : json.at("steps")) {
    b.steps.push_back({.model = step.at("model"),
                       .tokens = step.at("tokens"),
                       .seconds = step.at("seconds"),
                       .flops_per_second = step.at("model_flops_per_second"),
                       .matrix_peak_flops_per_second = step.at("matrix_peak_flops_per_second")});
  }
  return b;
}

bench::MachineBenchmark read(const std::filesystem::path& file) {
  try {
    return from_json(ordered_json::parse(read_file(file)));
  } catch (const ordered_json::exception& error) {
    fail("{}: is not what 'strata bench machine --json' prints: {}", file.string(), error.what());
  }
}

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

// Prints a Markdown table: a row per machine, a column for every kind of step that any has.
void print_rows(const std::vector<bench::MachineBenchmark>& machines) {
  std::vector<std::string> steps;
  for (const bench::MachineBenchmark& b : machines) {
    for (const bench::StepShare& step : b.steps) {
      const std::string name = name_of(step.model, step.tokens);
      if (std::ranges::find(steps, name) == steps.end()) steps.push_back(name);
    }
  }
  fmt::print(
      "| processor | instruction sets | device | matrix peak fp32, bf16 (GFLOP/s) | copy (GB/s) "
      "| {} | attention forward, backward | Adam: share of copy, of a plain loop |\n"
      "| --- | --- | --- | ---: | ---: |",
      fmt::join(steps, " | "));
  for (size_t i = 0; i < steps.size(); ++i) fmt::print(" ---: |");
  fmt::print(" ---: | ---: |\n");
  for (const bench::MachineBenchmark& b : machines) {
    const harness::Machine& machine = b.machine;
    fmt::print(
        "| {}{}, {} | {} | {} | {:.0f}, {} | {:.1f} |", machine.processor_model,
        machine.processor_family.empty() ? "" : fmt::format(" ({})", machine.processor_family),
        counted(machine.cores, "core"), fmt::join(machine.instruction_sets, ", "), b.device,
        1e-9 * b.f32_matrix_peak,
        b.bf16_matrix_peak ? fmt::format("{:.0f}", 1e-9 * *b.bf16_matrix_peak) : "-",
        1e-9 * b.copy_peak);
    for (const std::string& name : steps) {
      const auto found = std::ranges::find_if(b.steps, [&](const bench::StepShare& step) {
        return name_of(step.model, step.tokens) == name;
      });
      fmt::print(" {} |", found == b.steps.end() ? "-" : percent(found->share()));
    }
    fmt::print(" {}, {} | {}, {} |\n", percent(b.attention.forward_share),
               percent(b.attention.backward_share), percent(b.optimizer.share_of(b.copy_peak)),
               percent(b.optimizer.share_of_plain()));
  }
}

void run(const BenchMachineOptions& options) {
  std::vector<bench::MachineBenchmark> machines;
  for (const std::filesystem::path& file : options.from) machines.push_back(read(file));
  if (machines.empty()) {
    if (comm::launched_by_mpi()) {
      fail("bench machine: needs a single process; run it without a launcher");
    }
    machines.push_back(bench::benchmark_machine(options.benchmark, [](const std::string& next) {
      print_to_stderr("measuring {}\n", next);
    }));
  }
  if (options.json) {
    for (const bench::MachineBenchmark& b : machines) write_json(to_json(b));
  } else {
    print_rows(machines);
  }
}

}  // namespace

void add_bench_machine(CLI::App& bench) {
  const auto options = std::make_shared<BenchMachineOptions>();
  CLI::App* command = bench.add_subcommand(
      "machine",
      "Measure this machine's row of docs/measurements/processors.md: matrix peak, copy bandwidth, "
      "and the shares of them that steps, attention and Adam reach; needs no data. bert-large "
      "takes 12 GB of memory and some minutes");
  bench::MachineBenchmarkOptions& benchmark = options->benchmark;
  command
      ->add_option("--models", benchmark.models,
                   "Models whose steps are measured: presets or config.json files. Attention and "
                   "the optimizer are measured for the first model only")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--tokens", benchmark.tokens, "Tokens of a micro-batch, for every model")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  command
      ->add_option("--steps", benchmark.steps,
                   "Number of steps to measure for each model, after two unmeasured steps")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_option("--rounds", benchmark.rounds, "Number of rounds of all other measurements")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_option("--threads", benchmark.threads, "Threads (default: one per processor)")
      ->check(CLI::Range(1, 4096));
  command
      ->add_option("--from", options->from,
                   "Print the rows of these files, which --json printed, without measuring")
      ->check(CLI::ExistingFile);
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] { run(*options); });
}

}  // namespace strata::cli
