#include <fmt/format.h>

#include <charconv>
#include <cmath>
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
#include "cli/output/listing.h"
#include "cli/output/print.h"
#include "cli/output/progress.h"
#include "loadbalance/plans/batch_plan.h"
#include "plan/layout_checks.h"
#include "plan/measured_step.h"
#include "plan/published/series.h"
#include "plan/report/report.h"
#include "plan/search.h"

namespace strata::cli {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostRanks = 1 << 20;

struct PlanCommand {
  std::vector<fs::path> measured, fit, check;
  std::vector<int64_t> ranks;
  std::vector<double> batches;
  PlanLayoutOptions layout;
  std::string strategy = "planned";
  std::string network;
  int64_t ranks_per_node = 0;  // 0: as calibrated
  double samples = 0;          // 0: reference points
  std::string round;           // reference points; empty: calibration or newest
  std::optional<double> start;
  bool search = false;
  double memory_gb = 0;
  bool json = false;
};

// Parses "5e-6,25e9": seconds and bytes per second.
plan::Link parse_network(const std::string& text) {
  const size_t comma = text.find(',');
  const auto number = [&](size_t begin, size_t end) {
    double value = std::nan("");
    if (begin <= end && end <= text.size()) {
      const auto [rest, error] = std::from_chars(text.data() + begin, text.data() + end, value);
      if (error != std::errc() || rest != text.data() + end) value = std::nan("");
    }
    return value;
  };
  plan::Link link;
  if (comma != std::string::npos) {
    link = {number(0, comma), number(comma + 1, text.size())};
  }
  constexpr double kLongest = 3600, kSlowest = 1, kFastest = 1e18;
  if (!(link.latency >= 0 && link.latency <= kLongest) ||
      !(link.bytes_per_second >= kSlowest && link.bytes_per_second <= kFastest)) {
    fail(
        "--network {}: SECONDS,BYTES_A_SECOND was expected, such as 5e-6,25e9: up to an hour, and "
        "at least a byte a second",
        text);
  }
  return link;
}

// Adds the reason of every unusable folder to `left_out`, or throws Error if that is null.
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
      fail("--fit {}: {} systems, such as {} and {}; name each that is meant", path.string(),
           folders.size(), folders[0].path.string(), folders[1].path.string());
    }
    all.push_back(folders.front());
  }
  return read_folders(all, nullptr);
}

plan::Planner measured_planner(const PlanCommand& command) {
  plan::Planner planner;
  for (const fs::path& path : command.measured) {
    planner.measured.push_back(plan::read_measured_step(path));
    plan::MeasuredStep& step = planner.measured.back();
    step.imbalance = plan::simulated_imbalance(command.strategy, step.ranks, step.batch);
  }
  planner.calibration = plan::calibrate(planner.measured);
  planner.ranks_per_node = planner.calibration.ranks_per_node;
  planner.strategy = command.strategy;
  planner.samples = [](double batch) { return plan::reference_samples("5.0.0", batch); };
  return planner;
}

void set_options(const PlanCommand& command, plan::Planner& planner) {
  planner.shape = command.layout.shape();
  if (!command.network.empty()) planner.network = parse_network(command.network);
  if (command.ranks_per_node > 0) planner.ranks_per_node = command.ranks_per_node;
  if (command.start) planner.start = {*command.start, 0};
  if (command.samples > 0) {
    planner.samples = [samples = command.samples](double) {
      plan::Samples given = plan::given_samples(samples, 0, 0);
      given.ground = "given";
      return given;
    };
  } else if (!command.round.empty()) {
    planner.samples = [round = command.round](double batch) {
      return plan::reference_samples(round, batch);
    };
  }
}

void warn_of_memory(const PlanCommand& command, const plan::Prediction& prediction) {
  const double gigabytes = prediction.memory / 1e9;
  if (command.memory_gb <= 0 || gigabytes <= command.memory_gb) return;
  fmt::print(stderr,
             "strata: {}, batch {}: {:.1f} GB a rank, more than --memory {}; --accumulation, "
             "--sharded and --activations recompute need less, --search finds what fits\n",
             counted(prediction.input.ranks, "rank"), count_text(prediction.input.batch), gigabytes,
             command.memory_gb);
}

void predict(const PlanCommand& command, plan::PlanReport& report) {
  const plan::Layout layout = command.layout.chosen();
  for (const int64_t ranks : command.ranks) {
    for (const double batch : command.batches) {
      if (const auto reason = plan::refusal(report.planner.shape, ranks, batch, layout)) {
        fail("{}", *reason);
      }
      report.predictions.push_back(report.planner.predict(ranks, batch, layout));
      warn_of_memory(command, report.predictions.back());
    }
  }
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
    fail("--measured and --fit: calibrate from one of both");
  }
  if (!calibrated && command.check.empty()) {
    fail(
        "nothing to calibrate from: name steps by --measured, published systems by --fit, or "
        "published series by --check");
  }
  if (!calibrated && !command.ranks.empty()) {
    fail(
        "--ranks: --check alone predicts published systems; name what to calibrate from by --fit "
        "or --measured");
  }
  if (calibrated && command.check.empty() && command.ranks.empty()) {
    fail("nothing to predict: name numbers of ranks by --ranks, or published systems by --check");
  }
  if (command.ranks.empty() != command.batches.empty()) {
    fail("--ranks and --batch go together: the batch decides how many samples a rank takes");
  }
  if (command.search && (command.ranks.empty() || command.memory_gb <= 0)) {
    fail("--search: needs --ranks, --batch and --memory, the gigabytes of a rank");
  }
  if (command.search && command.network.empty()) {
    fail("--search: needs --network; layouts differ by what they send");
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
  CLI::App* command = app.add_subcommand(
      "plan",
      "Predict step time and time to train of BERT-large on other numbers of ranks, from measured "
      "steps or published logs, and say what binds");
  const auto options = std::make_shared<PlanCommand>();
  command
      ->add_option("--measured", options->measured,
                   "Steps that 'strata bench step --json' wrote, at two batch sizes or more")
      ->type_name("FILE");
  command
      ->add_option("--fit", options->fit,
                   "Published systems to calibrate from, with two batch sizes a rank or more: "
                   "ROUND/SYSTEM, or a system's folder")
      ->type_name("ROUND/SYSTEM");
  command
      ->add_option("--check", options->check,
                   "Compare with published systems: rounds, submitters, systems. Without --fit: of "
                   "every series of at least four systems, calibrated from three of it")
      ->type_name("PATH");
  command->add_option("--ranks", options->ranks, "Numbers of ranks (accelerators) to predict")
      ->delimiter(',')
      ->check(CLI::Range(int64_t{1}, kMostRanks));
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
  command
      ->add_option(
          "--network", options->network,
          "A rank's share of the link between nodes: seconds of a message, bytes a second. "
          "Default: several nodes cost what was calibrated")
      ->type_name("SECONDS,BYTES");
  command
      ->add_option("--ranks-per-node", options->ranks_per_node,
                   "Ranks on a node (default: as calibrated)")
      ->check(CLI::Range(int64_t{1}, kMostRanks));
  command
      ->add_option("--samples", options->samples,
                   "Samples to converge (default: the reference points' at the batch size)")
      ->check(number_within(1, 1e12));
  command->add_option("--round", options->round,
                      "Round whose reference points count, such as 2.0.0 (default: that of the "
                      "last --fit, else the newest)");
  command
      ->add_option("--start", options->start,
                   "Seconds from run_start until steps go at their pace (default: as calibrated)")
      ->check(number_within(0, 1e6));
  command->add_flag("--search", options->search,
                    "Try every layout of ranks: stages, accumulation, order, sharding");
  command
      ->add_option(
          "--memory", options->memory_gb,
          "Gigabytes of a rank: what --search may use; without it, what needs more is said")
      ->check(number_within(0.001, 1e6));
  command->add_flag("--json", options->json, "Print JSON; 'strata plot plan' draws it");
  command->callback([options, &exit_code] { exit_code = run_plan(*options); });
}

}  // namespace strata::cli
