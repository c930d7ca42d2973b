#include <fmt/format.h>
#include <fmt/ranges.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/counts.h"
#include "base/text/printable.h"
#include "cli/commands.h"
#include "cli/options/outputs.h"
#include "cli/output/print.h"
#include "cli/results/score_options.h"
#include "report/page.h"
#include "report/runs/tree_state.h"
#include "report/watch.h"

namespace strata::cli {
namespace {

namespace fs = std::filesystem;

struct ReportOptions {
  report::ReportInput input;
  report::PageInput page;
  ScoreRules rules;
  std::string output = "report.html";
  bool watch = false;
  report::ServerOptions server{.port = 8080};
};

std::string title_of(const ReportOptions& options) {
  if (!options.page.title.empty()) return options.page.title;
  std::vector<std::string> names;
  for (const fs::path& directory : options.input.directories) {
    names.push_back(fs::weakly_canonical(directory).filename().string());
  }
  return fmt::format("{}: MLPerf results", fmt::join(names, ", "));
}

std::string names_of(const std::vector<fs::path>& paths) {
  std::vector<std::string> names;
  for (const fs::path& path : paths) names.push_back(path.string());
  return fmt::format("{}", fmt::join(names, ", "));
}

int write_report(ReportOptions& options) {
  std::vector<fs::path> read = options.input.directories;
  for (const auto& more : {options.input.beside, options.page.plans, options.page.measurements})
    read.insert(read.end(), more.begin(), more.end());
  refuse_to_replace(read, options.output, "--output");  // the default may name an input
  Progress progress("reading logs");
  options.input.progress = [&](size_t done, size_t total) { progress.update(done, total); };
  const report::ReportData data = report::read_report_data(options.input);
  write_output(options.output, report::make_page(data, options.page));
  if (!options.output.starts_with("/dev/")) {
    say("{}: {} of {}\n", one_line(options.output), counted(data.folders.size(), "result folder"),
        counted(data.systems.size(), "system"));
  }
  // The report shows these problems, too.
  if (!data.problems.empty()) refuse(data.problems);
  return 0;
}

// Serves pages until a signal arrives.
int watch(const ReportOptions& options) {
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, signal);
  ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);  // before there are threads

  std::vector<fs::path> read = options.input.directories;
  for (const auto& more : {options.input.beside, options.page.plans, options.page.measurements}) {
    read.insert(read.end(), more.begin(), more.end());
  }
  const auto page = [&]() -> std::string {
    try {
      return report::make_page(report::read_report_data(options.input), options.page);
    } catch (const Error& error) {  // a run that has not begun has no log
      return report::make_message_page(error.what(), options.page);
    }
  };
  report::ReportServer server(
      options.server, [&] { return report::state_of(read); }, page);
  say("{}\nStop it with Ctrl-C.\n", server.url());
  if (std::fflush(stdout) != 0) fail("cannot write the page's address to standard output");
  int signal = 0;
  ::sigwait(&ends, &signal);
  // Does not wait for the server, whose reads may take long: it writes nothing that could be lost.
  std::_Exit(0);
}

}  // namespace

void add_report_command(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("report",
                         "Write one page to send or print: systems side by side, curves, speed, "
                         "phases, reference points, checks, settings");
  const auto options = std::make_shared<ReportOptions>();
  command
      ->add_option("DIR", options->input.directories,
                   "Rounds, submitters, systems or folders of result_N.txt")
      ->required();
  const auto output = names_output(
      command->add_option("-o,--output", options->output, "File to write (default: report.html)"));
  command
      ->add_option("--beside", options->input.beside,
                   "Published rounds, systems or folders to show beside these, in grey")
      ->expected(1)
      ->take_all();
  command->add_option("--benchmark", options->input.benchmark,
                      "Show only this benchmark, such as bert");
  command->add_option("--title", options->page.title,
                      "Title of the page (default: the names of DIR)");
  command
      ->add_option("--plan", options->page.plans,
                   "Output of 'strata plan --json', shown beside the measurements (repeatable)")
      ->expected(1)
      ->take_all();
  command
      ->add_option("--measured", options->page.measurements,
                   "Output of 'strata bench ... --json' (repeatable)")
      ->expected(1)
      ->take_all();
  add_rule_options(*command, options->rules);
  const auto watches = command->add_flag("--watch", options->watch,
                                         "Serve the page instead of writing it, and refresh it "
                                         "while runs go on; steps come from log.step_trace");
  watches->excludes(output);
  command
      ->add_option("--port", options->server.port,
                   "Port to serve on (default: 8080); 0 chooses a free one")
      ->needs(watches);
  command
      ->add_option("--listen", options->server.address,
                   "Address to serve on (default: 127.0.0.1, this machine alone)")
      ->needs(watches);
  command
      ->add_option("--every", options->page.refresh_seconds,
                   "Seconds between checks for changes (default: 2)")
      ->needs(watches)
      ->check(CLI::Range(1, 3600));
  command->callback([options, &exit_code] {
    options->input.score = judged_by(options->rules);
    options->page.rcp_directory = directory_of(options->rules.rcp);
    options->page.version = STRATA_VERSION;
    options->page.title = title_of(*options);
    options->page.sources = names_of(options->input.directories);
    if (!options->input.beside.empty()) {
      options->page.sources += "; beside them " + names_of(options->input.beside);
    }
    if (!options->watch) {
      exit_code = write_report(*options);
      return;
    }
    if (options->page.refresh_seconds == 0) options->page.refresh_seconds = 2;
    exit_code = watch(*options);
  });
}

}  // namespace strata::cli
