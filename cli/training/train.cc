#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/text/counts.h"
#include "base/text/json_version.h"
#include "cli/commands.h"
#include "cli/options/config_options.h"
#include "cli/output/print.h"
#include "cli/output/write_json.h"
#include "cli/ranks.h"
#include "comm/mpi/end_job_on_error.h"
#include "harness/time_to_train.h"
#include "training/bert_system.h"
#include "training/dry_run.h"
#include "training/ranks/harness_communicator.h"

namespace strata::cli {
namespace {

struct TrainOptions {
  ConfigOptions run;
  int experiments = 0;
  bool keep_results = false;
  bool resume = false;
  bool json = false;
  bool describe = false;
  bool dry_run = false;
};

nlohmann::ordered_json to_json(const harness::ExperimentResult& result) {
  return {{"experiment", result.experiment},
          {"reached_target", result.reached_target},
          {"accuracy", result.accuracy},
          {"seconds", result.seconds},
          {"samples", result.samples},
          {"steps", result.steps},
          {"seed", result.seed},
          {"log", result.log.string()}};
}

void print(const std::vector<harness::ExperimentResult>& results, bool json) {
  if (json) {
    auto all = nlohmann::ordered_json::array();
    for (const auto& result : results) all.push_back(to_json(result));
    write_json(nlohmann::ordered_json{{"version", kJsonVersion}, {"experiments", all}});
    return;
  }
  for (const auto& result : results) {
    say("result_{}: {}, accuracy {:.4f}, {}, {}, {:.1f} s, seed {}, {}\n", result.experiment,
        result.reached_target ? "success" : "aborted", result.accuracy,
        counted(result.samples, "sample"), counted(result.steps, "step"), result.seconds,
        result.seed, result.log.string());
  }
}

// Returns whether no rank finds a problem with the run.
bool check(const config::RunConfig& config, const training::Ranks& ranks) {
  const training::DryRun result = training::dry_run(config, ranks);
  if (ranks.first()) {
    for (const std::string& fact : result.facts) say("{}\n", fact);
  }
  for (const std::string& problem : result.problems) {
    print_to_stderr("strata: {}{}\n",
                    ranks.size() > 1 ? fmt::format("rank {}: ", ranks.rank()) : "", problem);
  }
  int64_t problems = std::ssize(result.problems);
  ranks.communicator.all_reduce_sum(std::span(&problems, 1));
  if (ranks.first() && problems == 0) say("no problems found\n");
  return problems == 0;
}

harness::ExistingResults existing_results(const TrainOptions& options) {
  if (options.resume) return harness::ExistingResults::kResume;
  return options.keep_results ? harness::ExistingResults::kKeep : harness::ExistingResults::kRefuse;
}

int train(const TrainOptions& options) {
  if (options.describe) {
    say("{}", config::config_reference());
    return 0;
  }
  if (options.run.config.empty())
    fail("train: give the run's YAML file with --config; see 'strata train --help'");
  // Forks before there are threads and memory to copy.
  std::optional<harness::LogKeeper> keeper;
  if (comm::launched_rank() == 0) keeper.emplace();
  int exit_code = 0;
  const auto train_on = [&](const training::Ranks& ranks) {
    config::RunConfig config = options.run.load();
    if (options.experiments > 0) config.run.experiments = options.experiments;
    if (options.dry_run) {
      exit_code = check(config, ranks) ? 0 : 2;
      return;
    }
    ranks.communicator.end_job_after(config.run.stall_seconds);
    training::BertSystem system(config, ranks);
    training::HarnessCommunicator communicator(ranks);
    const auto results = comm::end_job_on_error(ranks.communicator, [&] {
      return harness::time_to_train(config, system, communicator, existing_results(options),
                                    keeper ? &*keeper : nullptr);
    });
    if (ranks.first()) print(results, options.json);
    const bool all =
        std::all_of(results.begin(), results.end(), [](const auto& r) { return r.reached_target; });
    // Only the first rank exits with 1: a launcher kills all other ranks at a nonzero code.
    exit_code = all || !ranks.first() ? 0 : 1;
  };
  on_all_ranks(train_on, [&] { return options.run.stall_seconds(); });
  return exit_code;
}

}  // namespace

void add_train_command(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<TrainOptions>();
  CLI::App* command = app.add_subcommand(
      "train",
      "Train to the target accuracy and write an MLPerf result tree (exit 0: reached, 1: not)");
  add_config_options(*command, options->run, ", for example scripts/configs/quickstart.yaml",
                     "optimizer.lr=1e-3");
  command
      ->add_option("--experiments", options->experiments,
                   "Number of runs, which write result_0.txt to result_{N-1}.txt")
      ->check(CLI::Range(1, 1000));
  command->add_flag(
      "--continue", options->keep_results,
      "Keep existing results, archive interrupted ones, and run the missing experiments");
  command->add_flag("--resume", options->resume,
                    "As --continue, but continue interrupted experiments from their last "
                    "checkpoint (checkpoint.every_steps, checkpoint.every_seconds)");
  command->add_flag("--json", options->json, "Print the results as JSON");
  command->add_flag("--dry-run", options->dry_run,
                    "Check configuration, device, weights and data without training (exit 2: the "
                    "run would fail, or its result would be useless)");
  command->add_flag("--describe-config", options->describe,
                    "Print every configuration key and exit");
  command->footer(
      "Two ranks on this machine: scripts/mpirun.sh -n 2 strata train --config FILE\n"
      "The log, the resolved configuration and the system description are written below "
      "run.output.");
  command->callback([options, &exit_code] { exit_code = train(*options); });
}

}  // namespace strata::cli
