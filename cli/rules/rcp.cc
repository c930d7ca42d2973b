#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/text/counts.h"
#include "base/text/json_version.h"
#include "cli/commands.h"
#include "cli/output/print.h"
#include "cli/output/write_json.h"
#include "cli/results/score_options.h"
#include "compliance/checks/rcp_diff.h"
#include "compliance/checks/rounds.h"

namespace strata::cli {
namespace {

namespace fs = std::filesystem;
using compliance::RcpVerdict;
using compliance::ReferencePoint;
using compliance::ReferencePoints;
using nlohmann::json;

struct RcpDiffCommand {
  std::string before, after;
  std::string usage = "training";
  std::string rcp, against;
  std::string benchmark;
  std::string scores;
  ScoreRules rules;
  bool json = false;
};

// One side's points: from `directory` (empty: built in), else from the first of `others` with any.
struct PointSources {
  fs::path directory;
  std::vector<fs::path> others;

  std::optional<ReferencePoints> load(const std::string& usage, const std::string& ruleset,
                                      const std::string& benchmark) const {
    auto points = compliance::load_reference_points(directory, usage, ruleset, benchmark);
    for (size_t i = 0; !points && i < others.size(); ++i)
      points = compliance::load_reference_points(others[i], usage, ruleset, benchmark);
    return points;
  }
};

PointSources sources_of(const std::string& given) {
  return {directory_of(given), compliance::installed_points(given)};
}

struct BenchmarkDiff {
  std::string benchmark;
  std::optional<ReferencePoints> before, after;
  std::vector<compliance::PointChange> changes;
};

std::vector<BenchmarkDiff> diff_benchmarks(const RcpDiffCommand& command,
                                           const PointSources& before, const PointSources& after) {
  std::set<std::string> names;
  for (const std::string& ruleset : {command.before, command.after}) {
    for (const std::string_view name : compliance::round_benchmarks(command.usage, ruleset))
      names.emplace(name);
  }
  if (!command.benchmark.empty()) {
    if (!names.contains(command.benchmark)) {
      fail("neither {} nor {} has a benchmark '{}'", command.before, command.after,
           command.benchmark);
    }
    names = {command.benchmark};
  }
  std::vector<BenchmarkDiff> diffs;
  for (const std::string& name : names) {
    BenchmarkDiff diff{name,
                       before.load(command.usage, command.before, name),
                       after.load(command.usage, command.after, name),
                       {}};
    if (!diff.before && !diff.after) continue;
    diff.changes = compliance::diff_points(diff.before ? &*diff.before : nullptr,
                                           diff.after ? &*diff.after : nullptr);
    diffs.push_back(std::move(diff));
  }
  return diffs;
}

// The change of a result folder's verdict.
struct Effect {
  std::string folder;
  std::string benchmark;
  RcpVerdict before, after;

  bool changes() const {
    if (before.outcome() != after.outcome()) return true;
    return before.outcome() == compliance::Outcome::kPassed && before.scaling != after.scaling;
  }
};

std::vector<Effect> effects_of(const RcpDiffCommand& command, const PointSources& before,
                               const PointSources& after, compliance::ListingProblems& problems) {
  std::vector<Effect> effects;
  Progress progress("reading logs");
  for (const scoring::Score& score :
       scoring::score_directory(command.scores, score_options(command.rules, progress, problems))) {
    // Only the closed division must meet the points. A tree without descriptions may be closed.
    if (score.system.division == "open") continue;
    std::vector<compliance::RunConvergence> runs;
    for (const scoring::RunScore& run : score.runs) runs.push_back(run.convergence);
    const auto folder = compliance::combine(runs);
    if (!command.benchmark.empty() && folder.benchmark != command.benchmark) continue;
    const auto judge = [&](const PointSources& sources, const std::string& ruleset) {
      return compliance::check_rcp(folder, sources.directory, command.usage, ruleset,
                                   compliance::RcpPass::kPruned, sources.others);
    };
    effects.push_back({score.folder.path.string(), folder.benchmark, judge(before, command.before),
                       judge(after, command.after)});
  }
  return effects;
}

std::string outcome_text(const RcpVerdict& verdict) {
  std::string text(compliance::word(verdict.outcome()));
  if (verdict.outcome() == compliance::Outcome::kPassed)
    return fmt::format("{}, scaled by {:.6f}", text, verdict.scaling);
  return fmt::format("{} ({})", text, verdict.message);
}

json verdict_json(const RcpVerdict& verdict) {
  return {{"outcome", compliance::word(verdict.outcome())},
          {"message", verdict.message},
          {"scaling", verdict.scaling}};
}

json point_json(const std::optional<ReferencePoint>& point) {
  if (!point) return json();
  return {{"runs", point->epochs.size()},
          {"mean", point->mean},
          {"stdev", point->stdev},
          {"least_mean", point->mean / point->max_speedup}};
}

json source_json(const std::optional<ReferencePoints>& points) {
  if (!points) return json();
  return {{"points", points->source()}, {"points_sha256", points->sha256()}};
}

std::string point_text(const std::optional<ReferencePoint>& point) {
  if (!point) return "none";
  return fmt::format("mean {}, least allowed mean {}, {}", count_text(point->mean),
                     count_text(point->mean / point->max_speedup),
                     counted(point->epochs.size(), "run"));
}

std::string source_text(const std::optional<ReferencePoints>& points) {
  return points ? fmt::format("{} (sha256 {})", points->source(), points->sha256().substr(0, 16))
                : "none";
}

void print_text(const RcpDiffCommand& command, const std::vector<BenchmarkDiff>& diffs,
                const std::vector<Effect>& effects) {
  for (const BenchmarkDiff& diff : diffs) {
    say("{}{}\n", diff.benchmark, diff.changes.empty() ? ": no point differs" : "");
    if (diff.changes.empty()) continue;
    say("  from: {}\n  to:   {}\n", source_text(diff.before), source_text(diff.after));
    for (const auto& change : diff.changes) {
      say("  batch size {}: {} -> {}\n", count_text(change.batch_size), point_text(change.before),
          point_text(change.after));
    }
  }
  if (diffs.empty()) say("neither round has reference points that the official check uses\n");
  if (command.scores.empty()) return;
  const auto changed = std::ranges::count_if(effects, &Effect::changes);
  say("\n{} of {} under {} {} judged differently\n", changed,
      counted(effects.size(), "result folder"), command.scores, changed == 1 ? "is" : "are");
  for (const Effect& effect : effects) {
    if (!effect.changes()) continue;
    say("  {}: {} -> {}\n", effect.folder, outcome_text(effect.before), outcome_text(effect.after));
  }
}

void print_json(const RcpDiffCommand& command, const std::vector<BenchmarkDiff>& diffs,
                const std::vector<Effect>& effects) {
  json benchmarks = json::array(), folders = json::array();
  for (const BenchmarkDiff& diff : diffs) {
    json points = json::array();
    for (const auto& change : diff.changes) {
      points.push_back({{"batch_size", change.batch_size},
                        {"before", point_json(change.before)},
                        {"after", point_json(change.after)}});
    }
    benchmarks.push_back({{"benchmark", diff.benchmark},
                          {"before", source_json(diff.before)},
                          {"after", source_json(diff.after)},
                          {"points", points}});
  }
  for (const Effect& effect : effects) {
    folders.push_back({{"path", effect.folder},
                       {"benchmark", effect.benchmark},
                       {"changes", effect.changes()},
                       {"before", verdict_json(effect.before)},
                       {"after", verdict_json(effect.after)}});
  }
  const json out = {{"version", kJsonVersion},  {"usage", command.usage},
                    {"before", command.before}, {"after", command.after},
                    {"benchmarks", benchmarks}, {"folders", folders}};
  write_json(out);
}

int diff_points(const RcpDiffCommand& command) {
  const PointSources before = sources_of(command.rcp);
  const PointSources after = command.against.empty() ? before : sources_of(command.against);
  compliance::ListingProblems problems;
  const auto diffs = diff_benchmarks(command, before, after);
  std::vector<Effect> effects;
  if (!command.scores.empty()) effects = effects_of(command, before, after, problems);
  command.json ? print_json(command, diffs, effects) : print_text(command, diffs, effects);
  refuse(problems);
  return 0;
}

}  // namespace

void add_rcp_command(CLI::App& app, int& exit_code) {
  CLI::App* rcp =
      app.add_subcommand("rcp", "Show what changed in the reference convergence points (RCPs)");
  rcp->require_subcommand(1);
  CLI::App* command = rcp->add_subcommand("diff",
                                          "Show which reference points differ between two rounds, "
                                          "and which results are judged differently");
  const auto options = std::make_shared<RcpDiffCommand>();
  command->add_option("FROM", options->before, "The first round, such as 5.0.0")
      ->required()
      ->transform(compliance::full_ruleset);
  command->add_option("TO", options->after, "The second round, such as 5.1.0")
      ->required()
      ->transform(compliance::full_ruleset);
  command->add_option("--usage", options->usage, "training or hpc (default: training)")
      ->check(CLI::IsMember({"training", "hpc"}));
  add_rcp_option(*command, options->rcp, false);
  command->add_option(
      "--against", options->against,
      "Directory of the reference points of TO, or built-in (default: that of --rcp)");
  command->add_option("--benchmark", options->benchmark, "Only this benchmark, such as bert");
  command->add_option("--scores", options->scores,
                      "A round, submitter, system or folder of result_N.txt, whose results are "
                      "judged by the points of both rounds (the open division is left out)");
  command->add_option("--threads", options->rules.score.threads,
                      "Threads that read logs (default: one per core)");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options, &exit_code] { exit_code = diff_points(*options); });
}

}  // namespace strata::cli
