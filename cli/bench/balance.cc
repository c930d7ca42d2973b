#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/json_version.h"
#include "cli/bench/bench.h"
#include "cli/output/progress.h"
#include "cli/output/write_json.h"
#include "config/cost_file.h"
#include "config/yaml_document.h"
#include "data/files/instance_file.h"
#include "loadbalance/length_histogram.h"
#include "loadbalance/plans/imbalance.h"
#include "training/factories/data.h"

namespace strata::cli {
namespace {

struct BenchBalanceOptions {
  std::string lengths;
  size_t samples = 1 << 20;
  std::vector<int> ranks = {8, 64, 1024, 4096};
  std::vector<std::string> strategies = loadbalance::strategies();
  std::string cost = "auto";
  int steps = 100;
  loadbalance::PlanOptions plan{.batch_per_rank = 16};
  bool json = false;
};

struct Measured {
  loadbalance::PlanOptions plan;
  loadbalance::ImbalanceReport report;
};

std::vector<loadbalance::LengthCount> read_lengths(const BenchBalanceOptions& options) {
  const std::filesystem::path path = options.lengths;
  if (data::is_named_as_data(path) || std::filesystem::is_directory(path)) {
    constexpr int32_t kAny = std::numeric_limits<int32_t>::max();
    return training::histogram_of(data::open_instances(path, {kAny, kAny})->index().classes());
  }
  return loadbalance::in_proportion(path.empty() ? loadbalance::mlperf_wikipedia_histogram()
                                                 : loadbalance::read_length_histogram(path),
                                    options.samples);
}

loadbalance::CostModel read_cost_option(const std::string& text) {
  config::ConfigValue value;
  value.node = config::parse_yaml(text, "--cost");
  value.key = "cost model";
  value.source = "--cost";
  value.base = std::filesystem::current_path();
  return config::read_cost(value, "{linear: A, quadratic: B}, a path or auto");
}

std::vector<Measured> measure(const BenchBalanceOptions& options) {
  const std::vector<loadbalance::LengthCount> lengths = read_lengths(options);
  loadbalance::PlanOptions plan = options.plan;
  plan.cost = read_cost_option(options.cost);
  Progress progress("measuring plans");
  const size_t total = options.ranks.size() * options.strategies.size();
  std::vector<Measured> results;
  for (const int ranks : options.ranks) {
    for (const std::string& strategy : options.strategies) {
      plan.ranks = ranks;
      plan.strategy = strategy;
      progress.update(results.size(), total);
      results.push_back({plan, loadbalance::measure_imbalance(plan, lengths, options.steps)});
    }
  }
  return results;
}

void print_json(const std::vector<Measured>& results) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const auto& [plan, report] : results) {
    rows.push_back({{"ranks", plan.ranks},
                    {"batch_per_rank", plan.batch_per_rank},
                    {"strategy", plan.strategy},
                    {"group_ranks", loadbalance::effective_group_ranks(plan)},
                    {"mean_imbalance", report.mean_imbalance},
                    {"p99_imbalance", report.p99_imbalance},
                    {"mean_group_bound", report.mean_group_bound},
                    {"bytes_received_per_rank_and_step", report.bytes_per_step},
                    {"planning_seconds_per_step", report.planning_seconds_per_step}});
  }
  write_json(nlohmann::ordered_json{{"version", kJsonVersion}, {"plans", rows}});
}

// Prints Markdown, for use in reports.
void print_table(const std::vector<Measured>& results) {
  fmt::print(
      "| ranks | strategy           | groups of | mean imbalance | 99th percentile | bytes a step "
      "| planning ms |\n"
      "| ----: | ------------------ | --------: | -------------: | --------------: | -----------: "
      "| ----------: |\n");
  for (const auto& [plan, report] : results) {
    fmt::print("| {:5} | {:18} | {:9} | {:14.4f} | {:15.4f} | {:12.0f} | {:11.3f} |\n", plan.ranks,
               plan.strategy, loadbalance::effective_group_ranks(plan), report.mean_imbalance,
               report.p99_imbalance, report.bytes_per_step, 1e3 * report.planning_seconds_per_step);
  }
}

}  // namespace

void add_bench_balance(CLI::App& bench) {
  const auto options = std::make_shared<BenchBalanceOptions>();
  CLI::App* command = bench.add_subcommand(
      "balance",
      "Simulate every load-balance strategy: imbalance (the highest cost of a rank over the mean), "
      "bytes sent to a rank, and planning time; needs no data");
  command->add_option("--lengths", options->lengths,
                      "Sample lengths: a file of lines 'LENGTH WEIGHT', or a data set, one file or "
                      "a directory of them. Default: MLPerf's BERT Wikipedia");
  command
      ->add_option(
          "--samples", options->samples,
          "Number of samples to make in the proportions of --lengths, if that is a file of "
          "lines 'LENGTH WEIGHT'")
      ->check(CLI::Range(size_t{1}, size_t{1} << 30))
      ->capture_default_str();
  command->add_option("--ranks", options->ranks, "Numbers of ranks to simulate")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--batch", options->plan.batch_per_rank, "Samples of a rank in a step")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--strategies", options->strategies, "Strategies to compare")
      ->delimiter(',')
      ->check(CLI::IsMember(loadbalance::strategies()))
      ->capture_default_str();
  command
      ->add_option("--steps", options->steps,
                   "Number of steps to simulate for each strategy and number of ranks")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command
      ->add_option("--group-ranks", options->plan.group_ranks,
                   "Number of neighbouring ranks that pool their samples; 0: 8 for "
                   "stratified+presort, all for planned")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  command
      ->add_option("--strata", options->plan.strata_bounds,
                   "Upper limits of the length strata in tokens, in increasing order")
      ->delimiter(',')
      ->capture_default_str();
  command
      ->add_option("--cost", options->cost,
                   "A sample's cost: a file that 'strata bench cost' wrote, '{linear: A, "
                   "quadratic: B}', or auto (BERT-large's arithmetic)")
      ->capture_default_str();
  command->add_option("--seed", options->plan.seed, "Seed of the draws")->capture_default_str();
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] {
    const std::vector<Measured> results = measure(*options);
    options->json ? print_json(results) : print_table(results);
  });
}

}  // namespace strata::cli
