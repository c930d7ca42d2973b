#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/refuse_to_replace.h"
#include "cli/score_options.h"
#include "plan/report/plan_plot.h"
#include "results/plots/gnuplot.h"
#include "results/plots/plots.h"
#include "results/plots/timeline_plot.h"
#ifdef STRATA_TRAINING
#include "search/search_folder.h"
#include "search/search_plot.h"
#endif

namespace strata::cli {
namespace {

constexpr char kOutput[] =
    "The picture: .svg, .png or .pdf, drawn by gnuplot; .gp: gnuplot's script, data included";
constexpr char kBenchmark[] = "Of this benchmark alone, such as bert";

// `says_so`: what is in the picture and what is not.
void draw(const results::Plot& plot, const std::string& output, bool says_so) {
  results::draw(plot.picture, output);
  if (!says_so) return;
  for (const std::string& reason : plot.left_out) fmt::print("left out: {}\n", reason);
  fmt::print("{}: {} drawn\n", output, plot.drawn);
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
  std::vector<results::Curve> curves = results::read_curves(command.paths, &problems);
  if (curves.empty()) refuse(problems);
  keep_benchmark(curves, command.benchmark,
                 [](const results::Curve& curve) { return curve.benchmark; });
  const auto axis =
      command.over == "samples" ? results::CurveAxis::kSamples : results::CurveAxis::kMinutes;
  if (!command.output.empty()) {
    draw(results::plot_curves(curves, {axis, command.target}), command.output, !command.json);
  }
  if (command.json) fmt::print("{}", results::curves_json(curves));
  refuse(problems);
  return 0;
}

void add_curves_command(CLI::App& plot, int& exit_code) {
  CLI::App* command = plot.add_subcommand(
      "curves",
      "Accuracy over time, or over samples, of every run, the range near the target stretched; a "
      "label a system, a colour a submitter");
  const auto options = std::make_shared<CurvesCommand>();
  command
      ->add_option("PATH", options->paths,
                   "Logs, folders of result_N.txt, systems, submitters or rounds")
      ->required();
  command->add_option("-o,--output", options->output, kOutput);
  command->add_option("--over", options->over, "What the accuracy is drawn over (minutes)")
      ->check(CLI::IsMember({"minutes", "samples"}));
  command->add_option(
      "--target", options->target,
      "A line at this accuracy (default: the target that the logs name, else MLPerf's)");
  command->add_option("--benchmark", options->benchmark, kBenchmark);
  command->add_flag("--json", options->json, "Print the evaluations as JSON");
  command->callback([options, &exit_code] {
    if (options->output.empty() && !options->json) {
      fail("name a picture by --output, or ask for --json");
    }
    if (options->target && !std::isfinite(*options->target)) {
      fail("--target {}: not a number that can be drawn", *options->target);
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
  const std::vector<results::Score> scores = read_scores(command.input, problems);
  draw(results::plot_scores(scores), command.output, true);
  refuse(problems);
  return 0;
}

void add_scores_command(CLI::App& plot, int& exit_code) {
  CLI::App* command = plot.add_subcommand(
      "scores",
      "Minutes to train of every system and its runs, and sequences a second of an accelerator");
  const auto options = std::make_shared<ScoresCommand>();
  add_score_options(*command, options->input);
  command->add_option("-o,--output", options->output, kOutput)->required();
  command->callback([options, &exit_code] { exit_code = plot_scores(*options); });
}

// ---- Plans

struct PlanPlotCommand {
  std::filesystem::path path;
  std::string output;
};

void add_plan_plot_command(CLI::App& plot) {
  CLI::App* command = plot.add_subcommand(
      "plan", "Predicted time over ranks, its terms stacked, and published results as points");
  const auto options = std::make_shared<PlanPlotCommand>();
  command->add_option("FILE", options->path, "What 'strata plan --json' printed")->required();
  command->add_option("-o,--output", options->output, kOutput)->required();
  command->callback([options] {
    refuse_to_replace(options->path, options->output, "plan");
    draw(plan::plot_plan(options->path), options->output, true);
  });
}

// ---- Searches

#ifdef STRATA_TRAINING
struct SearchPlotCommand {
  std::filesystem::path folder;
  std::string output;
};

void add_search_plot_command(CLI::App& plot) {
  CLI::App* command = plot.add_subcommand(
      "search", "The trials of 'strata search': what was drawn for each, and what came of it");
  const auto options = std::make_shared<SearchPlotCommand>();
  command->add_option("DIR", options->folder, "The search's folder")->required();
  command->add_option("-o,--output", options->output, kOutput)->required();
  command->callback([options] {
    const search::SearchPlan plan = search::read_plan(options->folder);
    const search::TrialLog log(search::trial_log_in(options->folder));
    draw(search::plot_search(plan, log), options->output, true);
  });
}
#endif

// ---- Timelines

struct TimelineCommand {
  std::filesystem::path path;
  std::string output;
  std::vector<std::string> within;
};

void add_timeline_command(CLI::App& plot) {
  CLI::App* command = plot.add_subcommand(
      "timeline", "What ranks did when: log.timeline_steps of a run, --timeline of 'strata bench'");
  const auto options = std::make_shared<TimelineCommand>();
  command->add_option("FILE", options->path, "Chrome trace JSON")->required();
  command->add_option("-o,--output", options->output, kOutput)->required();
  command
      ->add_option(
          "--within", options->within,
          "Only what overlaps the span of this exact name, for example 'step 2' or 'layer, "
          "recompute'; repeat it for several panels")
      ->expected(1)
      ->take_all();
  command->callback([options] {
    const results::TimelineTrace trace = results::read_timeline(options->path);
    refuse_to_replace(options->path, options->output, "trace");
    draw(results::plot_timeline(trace, options->within), options->output, true);
  });
}

}  // namespace

void add_plot_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("plot", "Draw runs, scores, plans and timelines");
  command->require_subcommand(1);
  add_curves_command(*command, exit_code);
  add_scores_command(*command, exit_code);
  add_timeline_command(*command);
  add_plan_plot_command(*command);
#ifdef STRATA_TRAINING
  add_search_plot_command(*command);
#endif
}

}  // namespace strata::cli
