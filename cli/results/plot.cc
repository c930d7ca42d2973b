#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text/json_version.h"
#include "base/text/printable.h"
#include "cli/commands.h"
#include "cli/options/outputs.h"
#include "cli/output/print.h"
#include "cli/results/score_options.h"
#include "compliance/checks/rounds.h"
#include "drawing/picture.h"
#include "plan/report/plan_plot.h"
#include "scoring/plots/history_plot.h"
#include "scoring/plots/plots.h"
#include "scoring/plots/rcp_plot.h"
#include "scoring/plots/timeline_plot.h"
#ifdef STRATA_TRAINING
#include "cli/output/write_json.h"
#include "search/search_folder.h"
#include "search/search_plot.h"
#endif

namespace strata::cli {
namespace {

constexpr char kBenchmark[] = "Only this benchmark, such as bert";

CLI::Option* add_picture_option(CLI::App& command, std::string& output) {
  return names_output(
      command.add_option(
          "-o,--output", output,
          "The picture: .svg; .png and .pdf need rsvg-convert, inkscape or ImageMagick"),
      OutputKind::kFile);
}

// `says_so`: also prints what is in the picture and what was left out.
void draw(const drawing::Plot& plot, const std::string& output, bool says_so) {
  drawing::write_picture(plot.picture, output);
  if (!says_so) return;
  for (const std::string& reason : plot.left_out) say("left out: {}\n", one_line(reason));
  say("{}: {} drawn\n", one_line(output), plot.drawn);
}

// ---- Curves

struct CurvesCommand {
  std::vector<std::filesystem::path> paths;
  std::string output;
  std::string benchmark;
  std::string over = "minutes";
  std::optional<double> target;
  bool json = false;
};

int plot_curves(const CurvesCommand& command) {
  compliance::ListingProblems problems;
  std::vector<scoring::Curve> curves = scoring::read_curves(command.paths, &problems);
  if (curves.empty()) refuse(problems);
  keep_benchmark(curves, command.benchmark,
                 [](const scoring::Curve& curve) { return curve.benchmark; });
  const auto axis =
      command.over == "samples" ? scoring::CurveAxis::kSamples : scoring::CurveAxis::kMinutes;
  if (!command.output.empty()) {
    draw(scoring::plot_curves(curves, {axis, command.target}), command.output, !command.json);
  }
  if (command.json) fmt::print("{}", scoring::curves_json(curves));
  refuse(problems);
  return 0;
}

void add_curves_command(CLI::App& plot, int& exit_code) {
  CLI::App* command =
      plot.add_subcommand("curves",
                          "Accuracy of every run over time or samples, stretched near the target; "
                          "one label per system, one colour per system or submitter");
  const auto options = std::make_shared<CurvesCommand>();
  command
      ->add_option("PATH", options->paths,
                   "Logs, folders of result_N.txt, systems, submitters or rounds")
      ->required();
  add_picture_option(*command, options->output);
  command->add_option("--over", options->over, "Horizontal axis (default: minutes)")
      ->check(CLI::IsMember({"minutes", "samples"}));
  command->add_option(
      "--target", options->target,
      "Draw a line at this accuracy (default: the target that the logs name, else MLPerf's)");
  command->add_option("--benchmark", options->benchmark, kBenchmark);
  command->add_flag("--json", options->json, "Print the evaluations as JSON");
  command->callback([options, &exit_code] {
    if (options->output.empty() && !options->json) {
      fail("give --output or --json");
    }
    if (options->target && !std::isfinite(*options->target)) {
      fail("--target {}: expected a finite number", *options->target);
    }
    exit_code = plot_curves(*options);
  });
}

// ---- Scores

struct ScoresCommand {
  ScoreInput input;
  std::string output;
};

int plot_scores(const ScoresCommand& command) {
  compliance::ListingProblems problems;
  const std::vector<scoring::Score> scores = read_scores(command.input, problems);
  draw(scoring::plot_scores(scores), command.output, true);
  refuse(problems);
  return 0;
}

void add_scores_command(CLI::App& plot, int& exit_code) {
  CLI::App* command = plot.add_subcommand(
      "scores",
      "Minutes to train of every system and its runs, and sequences per second and accelerator");
  const auto options = std::make_shared<ScoresCommand>();
  add_score_options(*command, options->input);
  add_picture_option(*command, options->output)->required();
  command->callback([options, &exit_code] { exit_code = plot_scores(*options); });
}

// ---- Reference points

struct RcpPlotCommand {
  std::string benchmark = "bert";
  std::string usage = "training", ruleset;
  std::string rcp, custom;
  std::string output;
  bool unpruned = false, interpolate = false, no_header = false, json = false;
  std::optional<double> bootstrap;
  uint64_t seed = 0;
};

// Returns the points of the named round, else of the newest round that has points for the
// benchmark.
compliance::ReferencePoints points_for(const RcpPlotCommand& command) {
  auto rounds = compliance::known_rulesets(command.usage);
  std::ranges::reverse(rounds);
  if (!command.ruleset.empty()) rounds = {command.ruleset};
  if (!command.custom.empty()) {
    return compliance::read_reference_points(command.custom, command.usage,
                                             std::string(rounds.front()), command.benchmark);
  }
  std::vector<std::filesystem::path> directories = {directory_of(command.rcp)};
  for (auto& other : compliance::installed_points(command.rcp)) directories.push_back(other);
  for (const std::string_view round : rounds) {
    for (const auto& directory : directories) {
      auto points =
          compliance::load_reference_points(directory, command.usage, round, command.benchmark);
      if (points) return std::move(*points);
    }
  }
  fail("there are no reference points that the official check uses for '{}' in {} {}",
       command.benchmark, command.usage, command.ruleset.empty() ? "any round" : command.ruleset);
}

nlohmann::json row_json(const scoring::RcpRow& row) {
  return {{"batch_size", row.batch_size},
          {"mean", row.mean},
          {"least_mean", row.least},
          {"runs", row.runs}};
}

nlohmann::json bootstrap_json(const std::optional<scoring::RcpBootstrap>& bootstrap) {
  if (!bootstrap) return nullptr;
  nlohmann::json bars = nlohmann::json::array();
  for (const auto& bar : scoring::histogram(bootstrap->scores))
    bars.push_back({{"from", bar.from}, {"to", bar.to}, {"count", bar.count}});
  return {{"point", row_json(bootstrap->point)},
          {"submission_runs", bootstrap->submission_runs},
          {"scores", bootstrap->scores.size()},
          {"below_least_mean", bootstrap->below_least},
          {"histogram", bars}};
}

std::string bootstrap_text(const scoring::RcpBootstrap& bootstrap) {
  constexpr size_t kWidth = 50;
  std::string text =
      fmt::format("submission_runs: {}\nmax_speedup (mean/min): {}\nP(score < min): {}\n",
                  bootstrap.submission_runs, bootstrap.point.mean / bootstrap.point.least,
                  bootstrap.below_least);
  const auto bars = scoring::histogram(bootstrap.scores);
  size_t tallest = 1;
  for (const auto& bar : bars) tallest = std::max(tallest, bar.count);
  for (const auto& bar : bars) {
    text += fmt::format("{:.1f}-{:.1f} | {} ({})\n", bar.from, bar.to,
                        std::string((kWidth * bar.count + tallest / 2) / tallest, '#'), bar.count);
  }
  return text;
}

int plot_rcp(const RcpPlotCommand& command) {
  const auto points = points_for(command);
  const auto pass = command.unpruned ? compliance::RcpPass::kFull : compliance::RcpPass::kPruned;
  std::optional<scoring::RcpBootstrap> bootstrap;
  if (command.bootstrap)
    bootstrap = scoring::rcp_bootstrap(points, *command.bootstrap, command.seed);
  if (!command.output.empty()) {
    draw(bootstrap ? scoring::plot_rcp(points, *bootstrap)
                   : scoring::plot_rcp(points, pass, command.interpolate),
         command.output, !command.json);
    if (!command.json) return 0;
  }
  const auto rows = bootstrap ? std::vector{bootstrap->point}
                              : scoring::rcp_rows(points, pass, command.interpolate);
  if (!command.json) {
    fmt::print("{}{}", scoring::rcp_csv(rows, !command.no_header),
               bootstrap ? bootstrap_text(*bootstrap) : "");
    return 0;
  }
  nlohmann::json list = nlohmann::json::array();
  for (const auto& row : rows) list.push_back(row_json(row));
  const nlohmann::json out = {{"version", kJsonVersion},
                              {"benchmark", points.benchmark()},
                              {"usage", command.usage},
                              {"ruleset", points.ruleset()},
                              {"unit", compliance::convergence_unit(points.benchmark())},
                              {"points", points.source()},
                              {"points_sha256", points.sha256()},
                              {"rows", list},
                              {"bootstrap", bootstrap_json(bootstrap)}};
  write_json(out);
  return 0;
}

void add_rcp_plot_command(CLI::App& plot, int& exit_code) {
  CLI::App* command = plot.add_subcommand(
      "rcp", "Reference convergence points: a picture, or mean and least allowed mean as CSV");
  const auto options = std::make_shared<RcpPlotCommand>();
  command->add_option("BENCHMARK", options->benchmark, "Benchmark (default: bert)");
  command
      ->add_option("--ruleset,--version", options->ruleset,
                   "Round, such as 2.1 (default: the newest with points for the benchmark)")
      ->transform(compliance::full_ruleset);
  command->add_option("--usage", options->usage, "training or hpc (default: training)")
      ->check(CLI::IsMember({"training", "hpc"}));
  const auto rcp = add_rcp_option(*command, options->rcp, false);
  command
      ->add_option("--custom-rcps,--custom_rcps", options->custom,
                   "Use the reference points of this file (official format)")
      ->type_name("FILE")
      ->excludes(rcp);
  add_picture_option(*command, options->output);
  command->add_flag("--unpruned", options->unpruned,
                    "Also use the reference points that pruning removes");
  const auto interpolate =
      command->add_flag("--interpolate", options->interpolate,
                        "Also interpolate to batch sizes between the reference points");
  command
      ->add_option("--bootstrap", options->bootstrap,
                   "Histogram of the scores of random submissions, whose runs are drawn from this "
                   "batch size's reference runs")
      ->type_name("BATCH_SIZE")
      ->excludes(interpolate);
  command->add_option("--seed", options->seed, "Seed of --bootstrap's random draws (default: 0)");
  command->add_flag("--no-header", options->no_header, "Omit the CSV's header line");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options, &exit_code] { exit_code = plot_rcp(*options); });
}

// ---- Plans

struct PlanPlotCommand {
  std::filesystem::path path;
  std::string output;
};

void add_plan_plot_command(CLI::App& plot) {
  CLI::App* command = plot.add_subcommand(
      "plan", "Predicted time by ranks, with its terms stacked and published results as points");
  const auto options = std::make_shared<PlanPlotCommand>();
  command->add_option("FILE", options->path, "Output of 'strata plan --json'")->required();
  add_picture_option(*command, options->output)->required();
  command->callback([options] { draw(plan::plot_plan(options->path), options->output, true); });
}

// ---- Searches

#ifdef STRATA_TRAINING
struct SearchPlotCommand {
  std::filesystem::path folder;
  std::string output;
};

void add_search_plot_command(CLI::App& plot) {
  CLI::App* command =
      plot.add_subcommand("search", "The trials of 'strata search': their settings and results");
  const auto options = std::make_shared<SearchPlotCommand>();
  command->add_option("DIR", options->folder, "The search's folder")->required();
  add_picture_option(*command, options->output)->required();
  command->callback([options] {
    const search::SearchPlan plan = search::read_plan(options->folder);
    const search::TrialLog log(search::trial_log_in(options->folder));
    draw(search::plot_search(plan, log), options->output, true);
  });
}
#endif

// ---- Timelines

struct TimelineCommand {
  std::vector<std::filesystem::path> paths;
  std::string output;
  std::vector<std::string> within;
};

void add_timeline_command(CLI::App& plot) {
  CLI::App* command = plot.add_subcommand(
      "timeline",
      "Timeline of ranks, from log.timeline_steps of a run or --timeline of 'strata bench'");
  const auto options = std::make_shared<TimelineCommand>();
  command
      ->add_option("FILE", options->paths,
                   "Chrome traces in JSON; several are drawn one below the other")
      ->required();
  add_picture_option(*command, options->output)->required();
  command
      ->add_option("--within", options->within,
                   "Draw only what overlaps the span with exactly this name, such as 'step 2' or "
                   "'layer, recompute'; repeat it for several panels")
      ->expected(1)
      ->take_all();
  command->callback([options] {
    std::vector<scoring::TimelineTrace> traces;
    for (const auto& path : options->paths) traces.push_back(scoring::read_timeline(path));
    draw(scoring::plot_timeline(traces, options->within), options->output, true);
  });
}

// ---- Histories

struct HistoryCommand {
  std::vector<std::filesystem::path> paths;
  std::string output;
  std::vector<std::string> only;
};

void add_history_command(CLI::App& plot) {
  CLI::App* command = plot.add_subcommand(
      "history", "Builds that scripts/bench.sh compared: differences and their intervals");
  const auto options = std::make_shared<HistoryCommand>();
  command->add_option("FILE", options->paths, "Histories, such as bench/results/history.jsonl")
      ->required();
  add_picture_option(*command, options->output)->required();
  command->add_option("--only", options->only, "Only numbers whose name contains this (repeatable)")
      ->expected(1)
      ->take_all();
  command->callback([options] {
    draw(scoring::plot_history(scoring::read_build_comparisons(options->paths), options->only),
         options->output, true);
  });
}

}  // namespace

void add_plot_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "plot", "Draw runs, scores, reference points, plans, timelines and histories");
  command->require_subcommand(1);
  add_curves_command(*command, exit_code);
  add_scores_command(*command, exit_code);
  add_rcp_plot_command(*command, exit_code);
  add_timeline_command(*command);
  add_plan_plot_command(*command);
  add_history_command(*command);
#ifdef STRATA_TRAINING
  add_search_plot_command(*command);
#endif
}

}  // namespace strata::cli
