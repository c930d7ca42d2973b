#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text/counts.h"
#include "base/text/printable.h"
#include "cli/commands.h"
#include "cli/options/plan_layout.h"
#include "cli/options/plan_network.h"
#include "cli/output/listing.h"
#include "cli/output/print.h"
#include "cli/output/progress.h"
#include "compliance/checks/rounds.h"
#include "loadbalance/plans/batch_plan.h"
#include "plan/fewest_ranks.h"
#include "plan/layout_checks.h"
#include "plan/measured_step.h"
#include "plan/network_fit.h"
#include "plan/published/series.h"
#include "plan/report/report.h"
#include "plan/search.h"

namespace strata::cli {
namespace {

namespace fs = std::filesystem;

struct PlanCommand {
  std::vector<fs::path> measured, fit, check;
  std::vector<int64_t> ranks;
  std::vector<double> batches;
  PlanLayoutOptions layout;
  std::string strategy = "planned";
  PlanNetworkOptions network;
  int64_t ranks_per_node = 0;  // 0: as calibrated
  double samples = 0;          // 0: from the reference points
  std::string round;           // the reference points' round; empty: the calibration's or newest
  std::optional<double> start;
  bool search = false;
  double memory_gb = 0;
  double under = 0;  // seconds; 0: not given
  plan::Rates rates;
  bool json = false;
};

// Adds the errors of unusable folders to `left_out`. If it is null, throws the first one instead.
std::vector<plan::PublishedSystem> read_folders(
    const std::vector<compliance::ResultFolder>& folders, std::vector<std::string>* left_out) {
  Progress progress("reading logs");
  std::vector<plan::PublishedSystem> systems;
  for (size_t i = 0; i < folders.size(); ++i) {
    progress.update(i, folders.size());
    try {
      systems.push_back(plan::read_published_system(folders[i]));
    } catch (const Error& error) {
      if (left_out == nullptr) throw;
      left_out->push_back(error.what());
    }
  }
  return systems;
}

// Reads the systems under all paths.
std::vector<plan::PublishedSystem> read_systems(const std::vector<fs::path>& paths,
                                                std::vector<std::string>& left_out) {
  std::vector<compliance::ResultFolder> folders;
  for (const fs::path& path : paths) {
    for (auto& folder : plan::find_bert_folders(path)) folders.push_back(std::move(folder));
  }
  return read_folders(folders, &left_out);
}

// Each path must hold one system, or it would be unclear which one calibrates the prediction.
std::vector<plan::PublishedSystem> read_fitted(const std::vector<fs::path>& paths) {
  std::vector<compliance::ResultFolder> all;
  for (const fs::path& path : paths) {
    const auto folders = plan::find_bert_folders(path);
    if (folders.size() > 1) {
      fail("--fit {}: holds {} systems, such as {} and {}; name each one that you mean",
           path.string(), folders.size(), folders[0].path.string(), folders[1].path.string());
    }
    all.push_back(folders.front());
  }
  return read_folders(all, nullptr);
}

plan::Planner measured_planner(const PlanCommand& command) {
  plan::Planner planner;
  planner.shape = command.layout.shape();
  for (const fs::path& path : command.measured) {
    planner.measured.push_back(plan::read_measured_step(path));
    plan::MeasuredStep& step = planner.measured.back();
    plan::check_model(step, planner.shape);
    step.imbalance = plan::simulated_imbalance(command.strategy, step.ranks, step.batch);
  }
  planner.calibration = plan::calibrate(planner.measured);
  planner.ranks_per_node = planner.calibration.ranks_per_node;
  planner.strategy = command.strategy;
  planner.samples = plan::reference_samples("5.0.0");
  return planner;
}

void set_options(const PlanCommand& command, plan::Planner& planner) {
  planner.shape = command.layout.shape();
  if (command.ranks_per_node > 0) planner.ranks_per_node = command.ranks_per_node;
  planner.network = command.network.chosen(planner.ranks_per_node);
  if (planner.network) plan::fit_beside_network(planner);
  if (command.start) planner.start = {*command.start, 0};
  if (command.samples > 0) {
    planner.samples = [samples = command.samples](double) {
      plan::Samples given = plan::given_samples(samples, 0, 0);
      given.ground = "given";
      return given;
    };
  } else if (!command.round.empty()) {
    planner.samples = plan::reference_samples(command.round);
  }
}

void warn_of_memory(const PlanCommand& command, const plan::Prediction& prediction) {
  const double gigabytes = prediction.memory / 1e9;
  if (command.memory_gb <= 0 || gigabytes <= command.memory_gb) return;
  fmt::print(stderr,
             "strata: {}, batch {}: {:.1f} GB per rank, more than --memory {}; use --accumulation, "
             "--sharded or --activations recompute to need less, or --search to find what fits\n",
             counted(prediction.input.ranks, "rank"), count_text(prediction.input.batch), gigabytes,
             command.memory_gb);
}

void predict(const PlanCommand& command, plan::PlanReport& report) {
  const plan::Layout layout = command.layout.chosen();
  for (const int64_t ranks : command.ranks) {
    if (const int64_t most = report.planner.most_ranks(); ranks > most) {
      fail("--ranks {}: more than {} times the ranks that were measured; use at most {}", ranks,
           count_text(plan::kMostTimesMeasured), counted(most, "rank"));
    }
    for (const double batch : command.batches) {
      if (const auto reason = plan::refusal(report.planner.shape, ranks, batch, layout)) {
        fail("{}", *reason);
      }
      report.predictions.push_back(report.planner.predict(ranks, batch, layout));
      warn_of_memory(command, report.predictions.back());
    }
  }
  if (command.under > 0) {
    report.under = plan::fewest_ranks(report.planner, command.batches, layout, command.under);
  }
  report.rates = command.rates;
  if (command.search) {
    report.search = plan::search(report.planner, {.ranks = command.ranks,
                                                  .batches = command.batches,
                                                  .memory = command.memory_gb * 1e9,
                                                  .clip = layout.clip,
                                                  .recompute = layout.recompute});
  }
}

void check(const std::vector<plan::PublishedSystem>& calibrated,
           const std::vector<plan::PublishedSystem>& systems, plan::PlanReport& report) {
  for (const plan::PublishedSystem& system : systems) {
    report.checked.push_back(plan::check_system(report.planner, calibrated, system));
  }
}

// Returns one report per series of published systems, each calibrated from three of its systems.
std::vector<plan::PlanReport> check_series(const PlanCommand& command,
                                           std::vector<std::string>& left_out) {
  std::vector<plan::PlanReport> reports;
  for (const plan::Series& series :
       plan::make_series(read_systems(command.check, left_out), left_out)) {
    plan::PlanReport report;
    report.planner = plan::fit_published(series.calibrated, command.strategy);
    set_options(command, report.planner);
    check(series.calibrated, series.calibrated, report);
    check(series.calibrated, series.rest, report);
    reports.push_back(std::move(report));
  }
  return reports;
}

plan::PlanReport plan_of(const PlanCommand& command, std::vector<std::string>& left_out) {
  plan::PlanReport report;
  std::vector<plan::PublishedSystem> calibrated;
  if (command.fit.empty()) {
    report.planner = measured_planner(command);
  } else {
    calibrated = read_fitted(command.fit);
    for (const plan::PublishedSystem& system : calibrated) {
      left_out.insert(left_out.end(), system.left_out.begin(), system.left_out.end());
    }
    report.planner = plan::fit_published(calibrated, command.strategy);
  }
  set_options(command, report.planner);
  predict(command, report);
  if (!command.check.empty()) check(calibrated, read_systems(command.check, left_out), report);
  return report;
}

void print(const std::vector<plan::PlanReport>& reports, const std::vector<std::string>& left_out) {
  std::vector<plan::CheckedSystem> checked;
  for (const plan::PlanReport& report : reports) {
    say("{}\n", plan::calibration_text(report));
    const std::string predictions = plan::prediction_table(report);
    if (!predictions.empty()) say("{}\n", predictions);
    const std::string decisions = plan::decision_text(report);
    if (!decisions.empty()) say("{}\n", decisions);
    if (report.checked.empty()) continue;
    say("{}\n", plan::check_table(report));
    checked.insert(checked.end(), report.checked.begin(), report.checked.end());
  }
  if (!checked.empty()) say("{}", plan::summary_text(checked));
  for (const std::string& reason : left_out) say("\nleft out: {}\n", one_line(reason));
}

void check_usage(const PlanCommand& command) {
  const bool calibrated = !command.measured.empty() || !command.fit.empty();
  if (!command.measured.empty() && !command.fit.empty()) {
    fail("--measured and --fit: give only one of them");
  }
  if (!calibrated && command.check.empty()) {
    fail(
        "nothing to calibrate from: name steps with --measured, published systems with --fit, or "
        "published series with --check");
  }
  if (!calibrated && (!command.ranks.empty() || command.under > 0)) {
    fail(
        "{}: needs --fit or --measured to calibrate from; --check alone predicts only published "
        "systems",
        command.ranks.empty() ? "--under" : "--ranks");
  }
  if (calibrated && command.check.empty() && command.ranks.empty() && command.under == 0) {
    fail(
        "nothing to predict: name numbers of ranks with --ranks, or published systems with "
        "--check");
  }
  if (command.under > 0 && command.batches.empty()) {
    fail("--under: needs --batch, the global batch sizes to choose from");
  }
  if (command.ranks.empty() != command.batches.empty() && command.under == 0) {
    fail("--ranks and --batch must be given together: they determine the samples per rank");
  }
  if (command.search && (command.ranks.empty() || command.memory_gb <= 0)) {
    fail("--search: needs --ranks, --batch and --memory, the gigabytes per rank");
  }
  if (command.search && !command.network.given()) {
    fail("--search: needs --network, because layouts differ in what they send");
  }
}

int run_plan(const PlanCommand& command) {
  check_usage(command);
  std::vector<std::string> left_out;
  std::vector<plan::PlanReport> reports;
  if (command.fit.empty() && command.measured.empty()) {
    reports = check_series(command, left_out);
    if (reports.empty()) fail("no series to check: {}", first_and_count(left_out, "reason"));
  } else {
    reports.push_back(plan_of(command, left_out));
  }
  if (command.json) {
    reports.front().left_out = left_out;
    fmt::print("{}", plan::plan_json(reports));
  } else {
    print(reports, left_out);
  }
  return 0;
}

}  // namespace

void add_plan_command(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("plan",
                         "Predict step time and time to train of BERT-large on other numbers of "
                         "ranks, from measured steps or published logs, and name the bottleneck");
  const auto options = std::make_shared<PlanCommand>();
  command
      ->add_option(
          "--measured", options->measured,
          "Steps that 'strata bench step --json' wrote, whose samples per rank take at least "
          "two different values")
      ->type_name("FILE");
  command
      ->add_option("--fit", options->fit,
                   "Published systems to calibrate from, whose samples per rank take at least two "
                   "different values: ROUND/SYSTEM, or a system's folder")
      ->type_name("ROUND/SYSTEM");
  command
      ->add_option("--check", options->check,
                   "Compare with published systems: rounds, submitters or systems. Without --fit: "
                   "every series of at least four systems, calibrated from three of them")
      ->type_name("PATH");
  command->add_option("--ranks", options->ranks, "Numbers of ranks (accelerators) to predict")
      ->delimiter(',')
      ->check(CLI::Range(int64_t{1}, kMostPlannedRanks));
  command->add_option("--batch", options->batches, "Global batch sizes to predict, in samples")
      ->delimiter(',')
      ->check(number_within(1, 1e7));
  add_layout_options(*command, options->layout);
  command
      ->add_option(
          "--strategy", options->strategy,
          "Load-balance strategy whose imbalance is simulated, as in 'strata bench balance'")
      ->check(CLI::IsMember(loadbalance::strategies()))
      ->capture_default_str();
  add_network_options(*command, options->network);
  command
      ->add_option("--ranks-per-node", options->ranks_per_node,
                   "Ranks on a node (default: as calibrated)")
      ->check(CLI::Range(int64_t{1}, kMostPlannedRanks));
  command
      ->add_option("--samples", options->samples,
                   "Samples to converge (default: the reference points' at the batch size)")
      ->check(number_within(1, 1e12));
  command
      ->add_option("--round", options->round,
                   "Round whose reference points are used, such as 2.0 (default: that of the last "
                   "--fit, else the newest)")
      ->transform(compliance::full_ruleset);
  command
      ->add_option("--start", options->start,
                   "Seconds from run_start until steps run at full speed (default: as calibrated)")
      ->check(number_within(0, 1e6));
  command->add_flag("--search", options->search,
                    "Try every layout of ranks: stages, accumulation, order, sharding");
  command
      ->add_option("--memory", options->memory_gb,
                   "Memory of a rank, such as 40GB, that --search may use; without --search, warn "
                   "of predictions that need more")
      ->transform(
          number_with_unit({{"GB", 1}, {"GiB", 1.073741824}, {"TB", 1000}}, 0.001, 1e6, true));
  command
      ->add_option(
          "--under", options->under,
          "Find the fewest ranks that train in this time, such as 2min, trying each of --batch")
      ->transform(number_with_unit({{"s", 1}, {"min", 60}, {"h", 3600}}, 0.001, 1e7, false));
  command
      ->add_option("--price", options->rates.price,
                   "Price of an accelerator hour; prints the cost of runs, and the cheapest")
      ->check(number_within(1e-9, 1e9));
  command
      ->add_option("--watts", options->rates.watts,
                   "Watts of an accelerator; prints the energy of runs, and the one with the least")
      ->check(number_within(1e-9, 1e9));
  command->add_flag("--json", options->json, "Print JSON; 'strata plot plan' draws it");
  command->callback([options, &exit_code] { exit_code = run_plan(*options); });
}

}  // namespace strata::cli
