#include "search/search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text/counts.h"
#include "base/text/json_version.h"
#include "base/timing.h"
#include "cli/commands.h"
#include "cli/options/outputs.h"
#include "cli/output/print.h"
#include "cli/output/write_json.h"
#include "harness/host/interruption.h"
#include "search/finalists.h"
#include "search/jobs/runs_lock.h"
#include "search/jobs/train_jobs.h"
#include "search/search_folder.h"

namespace strata::cli {
namespace {

using search::Finalist;
using search::FinishedRun;
using search::SearchPlan;

struct SearchCommand {
  std::filesystem::path space, out;
  int slots = 1;
  std::string launcher;
  double limit = 0;  // seconds; 0: none
  bool dry_run = false;
  bool json = false;
};

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::string settings_text(const search::Settings& settings) {
  return settings.empty() ? "the configuration as it is" : search::to_text(settings);
}

std::string result_text(const FinishedRun& run) {
  const search::RunResult& result = run.result;
  if (result.ending == search::Ending::kFailed) return "failed: " + result.message;
  return fmt::format("{} {:.4f}, {}, {:.1f} s", search::name_of(result.ending), result.accuracy,
                     counted(result.samples, "sample"), result.seconds);
}

std::string cut(const std::string& text, size_t columns) {
  return text.size() <= columns ? text : text.substr(0, columns - 3) + "...";
}

// Shows a running search: on a terminal a table that is redrawn, otherwise a line per run.
class Display {
 public:
  Display(const SearchPlan& plan, const search::TrialLog& log, const search::TrialRunner& runner)
      : plan_(plan), log_(log), runner_(runner), terminal_(::isatty(2) != 0) {}
  Display(const Display&) = delete;
  Display& operator=(const Display&) = delete;
  ~Display() { clear(); }

  void show(const search::SearchState& state, const FinishedRun* ended) {
    if (ended) {
      clear();
      print_to_stderr(
          "search: {}, {} of {}: trial {}{}: {}; {}\n", search::name_of_stage(state.stage),
          state.ended, state.runs.size(), ended->run.trial,
          state.stage == search::kFinals ? fmt::format(", seed {}", ended->run.seed) : "",
          result_text(*ended), settings_text(ended->settings));
    }
    if (terminal_ && (ended || seconds_since(drawn_) > kBetweenPictures)) draw(state);
  }

 private:
  static constexpr double kBetweenPictures = 1;  // seconds
  static constexpr size_t kBest = 5, kColumns = 110;

  void clear() {
    if (lines_ > 0) print_to_stderr("\033[{}A\033[J", lines_);
    lines_ = 0;
  }
  void line(const std::string& text) {
    print_to_stderr("{}\n", cut(text, kColumns));
    ++lines_;
  }
  void draw(const search::SearchState& state) {
    drawn_ = Clock::now();
    clear();
    const auto ranked = search::ranking(plan_, log_, state.stage);
    line(fmt::format("{}: {} of {}, up to {} each", search::name_of_stage(state.stage), state.ended,
                     counted(state.runs.size(), "run"),
                     counted(search::samples_of(plan_, state.stage), "sample")));
    for (size_t i = 0; i < std::min(kBest, ranked.size()); ++i) {
      line(fmt::format("  {:>2}. trial {:<4} {}  {}", i + 1, ranked[i]->run.trial,
                       result_text(*ranked[i]), settings_text(ranked[i]->settings)));
    }
    for (const search::TrialRun& run : state.under_way) {
      line(fmt::format("  now trial {:<4} {}", run.trial, runner_.progress_of(run)));
    }
  }

  const SearchPlan& plan_;
  const search::TrialLog& log_;
  const search::TrialRunner& runner_;
  bool terminal_;
  int lines_ = 0;  // lines of the table on the terminal
  Clock::time_point drawn_{};
};

// ---- The end

std::string unit_of(const SearchPlan& plan) { return search::name_of(plan.objective); }

std::string confidence_text(const Finalist& finalist, const SearchPlan& plan) {
  std::string text = fmt::format("{} of {} reached the target", finalist.reached, finalist.runs);
  if (finalist.reached == 0) return fmt::format("{}; accuracy {:.4f}", text, finalist.accuracy);
  const int digits = plan.objective == search::Objective::kSamples ? 0 : 1;
  text +=
      fmt::format("; {} {:.{}f} (median {:.{}f}, {:.{}f} to {:.{}f}", unit_of(plan), finalist.mean,
                  digits, finalist.median, digits, finalist.least, digits, finalist.most, digits);
  if (finalist.interval) {
    text += fmt::format("; 95 % interval of the plain mean +- {:.{}f}", *finalist.interval, digits);
  }
  text += ")";
  if (finalist.p_value) {
    text += fmt::format("; one-sided t-test against trial 0: p = {:.2g}", *finalist.p_value);
  }
  return text;
}

nlohmann::ordered_json to_json(const Finalist& finalist) {
  nlohmann::ordered_json object = {{"trial", finalist.trial},
                                   {"settings", search::to_json(finalist.settings)},
                                   {"runs", finalist.runs},
                                   {"reached", finalist.reached},
                                   {"accuracy", finalist.accuracy}};
  if (finalist.reached > 0) {
    object["mean"] = finalist.mean;
    object["median"] = finalist.median;
    object["least"] = finalist.least;
    object["most"] = finalist.most;
  }
  if (finalist.interval) object["interval"] = *finalist.interval;
  if (finalist.p_value) object["p_value"] = *finalist.p_value;
  return object;
}

// Returns the exit code.
int report(const SearchPlan& plan, search::SearchFolder& folder, bool json) {
  const std::vector<Finalist> finalists = search::rank_finalists(plan, folder.log());
  const Finalist& winner = finalists.front();
  folder.write_winner(
      winner.settings,
      fmt::format("Found by strata search: trial {} of {}, {}.\n{}", winner.trial, plan.trials,
                  settings_text(winner.settings), confidence_text(winner, plan)));
  if (json) {
    auto all = nlohmann::ordered_json::array();
    for (const Finalist& finalist : finalists) all.push_back(to_json(finalist));
    write_json(nlohmann::ordered_json{{"version", kJsonVersion},
                                      {"objective", search::name_of(plan.objective)},
                                      {"finalists", all},
                                      {"configuration", folder.winner().string()}});
  } else {
    for (size_t i = 0; i < finalists.size(); ++i) {
      say("{}. trial {}: {}\n   {}\n", i + 1, finalists[i].trial,
          confidence_text(finalists[i], plan), settings_text(finalists[i].settings));
    }
    say("{}: the winner's configuration\n", folder.winner().string());
  }
  return winner.reached == winner.runs ? 0 : 1;
}

// ---- Before

void print_plan(const SearchPlan& plan, const search::TrainJobs& jobs) {
  for (int trial = search::kBaseTrial; trial <= plan.trials; ++trial) {
    say("trial {}: {}\n", trial, settings_text(search::settings_of(plan, trial)));
  }
  size_t runs = static_cast<size_t>(plan.trials) + 1;
  for (size_t rung = 0; rung < plan.rungs.size(); ++rung) {
    say("rung {}: {} of up to {}\n", rung, counted(runs, "run"),
        counted(plan.rungs[rung], "sample"));
    runs = search::going_on(plan, runs);
  }
  say("finals: up to {} and trial 0, {} each, up to {}\n", counted(plan.finalists, "trial"),
      counted(plan.seeds, "seed"), counted(plan.final_samples, "sample"));
  say("the first run: {}\n",
      fmt::join(jobs.command_of({search::kBaseTrial, 0, plan.seed}, {}, plan.rungs[0], 0), " "));
}

int run(const SearchCommand& command) {
  const SearchPlan plan = search::load_search_plan(command.space);
  const std::filesystem::path out = std::filesystem::absolute(command.out).lexically_normal();
  search::TrainJobOptions options{.folder = out,
                                  .config = search::configuration_in(out),
                                  .strata = std::filesystem::read_symlink("/proc/self/exe"),
                                  .slots = command.slots,
                                  .launcher = words_of(command.launcher),
                                  .limit = command.limit};
  if (command.dry_run) {
    print_plan(plan, search::TrainJobs(plan, options));
    return 0;
  }
  // These outlive the jobs, so that the folder stays locked while the jobs end.
  search::SearchFolder folder(command.out, plan);
  // Jobs are told to end when the search is killed, and end after ten seconds.
  const search::RunsLock lock(folder.plan(), std::chrono::seconds(15), [] {
    print_to_stderr("search: waiting for the runs of a killed search to end\n");
  });
  options.inherited = lock.descriptor();
  const harness::Interruption interruption;
  bool ended = false;
  {
    search::TrainJobs jobs(plan, options);
    Display display(plan, folder.log(), jobs);
    ended = search::run_search(
        plan, folder.log(), jobs,
        {.show = [&](const auto& state, const FinishedRun* run) { display.show(state, run); },
         .is_stopped = [&] { return interruption.requested(); }});
  }
  if (ended) return report(plan, folder, command.json);
  print_to_stderr("search: stopped; run the same command to continue it\n");
  return 128 + interruption.signal();
}

}  // namespace

void add_search_command(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<SearchCommand>();
  CLI::App* command = app.add_subcommand(
      "search", "Find the settings that reach the target first: successive halving over trials");
  command
      ->add_option(
          "--space", options->space,
          "Search space and plan: a YAML file, for example scripts/configs/search-quickstart.yaml")
      ->required();
  names_output(command->add_option("--out", options->out,
                                   "Folder for trials.jsonl, every run's results and winner.yaml. "
                                   "A stopped search continues from it"),
               OutputKind::kFolder)
      ->required();
  command
      ->add_option("--slots", options->slots,
                   "Number of runs at a time (default: 1). Without --launcher each has an equal "
                   "share of the processors")
      ->check(CLI::Range(1, 10000));
  command->add_option(
      "--launcher", options->launcher,
      "Command that starts the ranks of a run, with {ranks} and {slot} (from 0) filled in, for "
      "example 'mpirun --host node{slot}:{ranks} -n {ranks}' (default: mpirun on this machine)");
  command
      ->add_option("--limit", options->limit,
                   "Seconds that a run may take; a longer run is ended and counts as failed "
                   "(default: no limit)")
      ->check(CLI::PositiveNumber);
  command->add_flag("--dry-run", options->dry_run, "Print trials and stages without running them");
  command->add_flag("--json", options->json, "Print the finalists as JSON");
  command->footer(
      "Exit code 0: the winner reached the target with every seed, 1: it did not, 2: the search "
      "failed,\n"
      "128 + n: ended by signal n. Document: docs/search.md");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace strata::cli
