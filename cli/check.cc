#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/counts.h"
#include "base/threads/parallel.h"
#include "cli/commands.h"
#include "cli/options/outputs.h"
#include "cli/options/rule_options.h"
#include "cli/output/listing.h"
#include "cli/output/print.h"
#include "cli/output/progress.h"
#include "compliance/checks/check_log.h"
#include "compliance/checks/rounds.h"
#include "compliance/formats/formats.h"
#include "compliance/package/package.h"
#include "compliance/package/power.h"
#include "compliance/package/report.h"
#include "compliance/package/repository.h"
#include "compliance/package/scaling.h"
#include "compliance/package/seeds.h"
#include "compliance/package/system_description.h"
#include "compliance/review/review.h"

namespace strata::cli {
namespace {

namespace fs = std::filesystem;
using compliance::EventLog;
using compliance::ListingProblems;
using compliance::LogVerdict;
using compliance::Outcome;
using compliance::ResultFolder;
using compliance::RuleStore;
using compliance::Section;

// The options of all subcommands; each takes those that concern it.
struct CheckOptions {
  std::vector<std::string> paths;
  std::string ruleset;
  std::string usage;
  std::string rules;
  std::string rcp;
  std::string rcp_pass = "pruned";
  std::string custom_rcps;  // a file
  bool write_scaling = false;
  unsigned threads = 0;
  bool rcp_bypass = false;
  bool seed_bypass = false;
  bool bert_train_samples = false;
  bool werror = false, strict = false;
  bool quiet = false;
  bool require_verdict = false;
  bool json = false;
  bool github = false;
  std::string log_output;        // a file
  mutable std::string inferred;  // the line that says the round, once it is printed
  std::string sarif, junit;      // files
};

int exit_code_of(Outcome outcome, const CheckOptions& options) {
  const bool wanted =
      outcome == Outcome::kPassed || (outcome == Outcome::kNotJudged && !options.require_verdict);
  return wanted ? 0 : 1;
}

// Prints verdicts, and writes them to the file that --log-output names.
void show(const CheckOptions& options, const std::string& verdicts) {
  // JSON and GitHub's commands have escapes of their own.
  const bool is_plain = !options.json && !options.github;
  const std::string shown = is_plain ? printable_lines(verdicts) : verdicts;
  if (!options.log_output.empty())
    write_output(options.log_output, printable_lines(options.inferred) + shown);
  fmt::print("{}", shown);
}

int print_sections(std::vector<Section> sections, const CheckOptions& options) {
  std::string text;
  for (Section& section : sections) {
    if (options.quiet) section.warnings.clear();
    if (options.quiet && section.passed() && sections.size() > 1) continue;
    text += compliance::section_text(section);
  }
  show(options, options.json ? compliance::section_json(sections) : text);
  return exit_code_of(compliance::outcome_of(sections), options);
}

// Writes what --sarif and --junit name; prints, where --github asks for it, and says whether it
// did.
template <typename Verdicts>
bool write_formats(const CheckOptions& options, const Verdicts& verdicts) {
  if (options.sarif.empty() && options.junit.empty() && !options.github) return false;
  const std::vector<compliance::Case> cases = compliance::cases_of(verdicts);
  if (!options.sarif.empty()) write_output(options.sarif, compliance::sarif(cases));
  if (!options.junit.empty()) write_output(options.junit, compliance::junit(cases));
  if (options.github) show(options, compliance::github(cases));
  return options.github;
}

// Files as named; folders stand for the result_*.txt under them.
std::vector<fs::path> expand(const std::vector<std::string>& paths, ListingProblems& problems) {
  std::vector<fs::path> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      files.emplace_back(path);
      continue;
    }
    const auto folders = compliance::find_result_folders(path, &problems);
    if (folders.empty()) problems.push_back(fmt::format("{}: no result_*.txt under it", path));
    for (const auto& folder : folders)
      files.insert(files.end(), folder.logs.begin(), folder.logs.end());
  }
  return files;
}

int check_logs(const CheckOptions& options) {
  const auto rules = compliance::open_rules(options.rules);
  ListingProblems problems;
  const std::vector<fs::path> files = expand(options.paths, problems);
  std::vector<LogVerdict> verdicts(files.size());
  const auto review = [&](const EventLog& log, LogVerdict& verdict) {
    compliance::review_verdict(log, options.strict, verdict);
  };
  {
    Progress progress("checking logs");
    std::atomic<size_t> done{0};
    parallel_for(files.size(), options.threads, [&](size_t i) {
      verdicts[i] = compliance::check_one_of_many(
          files[i], *rules, {options.usage, options.ruleset, options.werror, review});
      if (options.quiet) {
        verdicts[i].warnings.clear();
        if (!options.strict) verdicts[i].review.clear();
      }
      progress.update(++done, files.size());
    });
  }
  if (write_formats(options, verdicts)) {
    // That is all: other lines might begin with what the runner takes for a command.
  } else if (options.json) {
    show(options, compliance::log_json(verdicts));
  } else {
    show(options, compliance::logs_text(verdicts, options.quiet));
  }
  Outcome outcome = Outcome::kPassed;
  for (const LogVerdict& verdict : verdicts) {
    outcome = compliance::worse(outcome, verdict.outcome());
    if (!verdict.readable) problems.push_back(verdict.errors.front().summary);
  }
  refuse(problems);
  return exit_code_of(outcome, options);
}

// Usage and ruleset as given, or inferred from the path or from its logs; what was inferred is
// printed.
compliance::RulesetChoice choose_ruleset(const CheckOptions& options, const std::string& path) {
  auto choice = compliance::infer_ruleset_of_tree(path, options.usage, options.ruleset);
  if (options.json || options.github) return choice;
  if (options.ruleset.empty()) {
    options.inferred = fmt::format("ruleset: {} {} (from the {}; --ruleset overrides)\n",
                                   choice.usage, choice.ruleset, choice.ground);
  } else if (options.usage.empty() && choice.usage != "training") {
    options.inferred =
        fmt::format("usage: {} (from the benchmarks; --usage overrides)\n", choice.usage);
  }
  say("{}", options.inferred);
  return choice;
}

compliance::RcpPass rcp_pass(const CheckOptions& options) {
  return options.rcp_pass.starts_with("full") ? compliance::RcpPass::kFull
                                              : compliance::RcpPass::kPruned;
}

compliance::PackageOptions package_options(const CheckOptions& options, const std::string& path,
                                           Progress& progress) {
  const auto choice = choose_ruleset(options, path);
  compliance::PackageOptions out;
  out.usage = choice.usage;
  out.ruleset = choice.ruleset;
  out.werror = options.werror;
  out.strict = options.strict;
  const PointFolders points = point_folders(options.rules, options.rcp);
  out.rcp = points.directory;
  out.other_rcp = points.others;
  out.rcp_pass = rcp_pass(options);
  out.rcp_bypass = options.rcp_bypass;
  out.seed_bypass = options.seed_bypass;
  out.bert_train_samples = options.bert_train_samples;
  out.quiet = options.quiet;
  out.threads = options.threads;
  out.progress = [&progress](size_t done, size_t total) { progress.update(done, total); };
  return out;
}

// Of every folder whose convergence was judged; what is done stands in its section. Returns what
// could not be written.
ListingProblems write_scalings(std::vector<compliance::PackageVerdict>& packages) {
  ListingProblems problems;
  for (auto& package : packages) {
    for (auto& folder : package.folders) {
      const auto section = std::ranges::find(folder.sections, "Reference convergence",
                                             [](const Section& one) { return one.title; });
      if (section == folder.sections.end()) continue;
      const auto written = compliance::write_scaling(folder.folder.path, folder.rcp);
      if (!written.note.empty()) section->notes.push_back(written.note);
      if (!written.problem.empty()) problems.push_back(written.problem);
    }
  }
  return problems;
}

int check_packages(const CheckOptions& options, bool whole_round) {
  const auto rules = compliance::open_rules(options.rules);
  std::vector<compliance::PackageVerdict> packages;
  {
    Progress progress("checking logs");
    const std::string& path = options.paths.front();
    const auto settings = package_options(options, path, progress);
    if (whole_round) {
      packages = compliance::check_round(path, *rules, settings);
    } else {
      packages.push_back(compliance::check_package(path, *rules, settings));
    }
  }
  ListingProblems problems;
  if (options.write_scaling) problems = write_scalings(packages);
  if (write_formats(options, packages)) {
    // That is all.
  } else if (options.json) {
    show(options, compliance::package_json(packages));
  } else {
    show(options, whole_round ? compliance::round_text(packages)
                              : compliance::package_text(packages.front(), options.quiet));
  }
  Outcome outcome = Outcome::kPassed;
  for (const auto& package : packages) {
    outcome = compliance::worse(outcome, package.outcome());
    problems.insert(problems.end(), package.unread.begin(), package.unread.end());
  }
  refuse(problems);
  return exit_code_of(outcome, options);
}

// A section for each result folder under the path, of which there must be one at least; `judge`
// may leave a folder out. A file that cannot be read is its section's error, and said at the end.
int check_folders(const CheckOptions& options, std::string_view title,
                  const std::function<std::optional<Section>(const ResultFolder&)>& judge,
                  std::string_view none_there) {
  const std::string& path = options.paths.front();
  ListingProblems problems;
  std::vector<Section> sections;
  for (const ResultFolder& folder : compliance::find_result_folders(path, &problems)) {
    std::optional<Section> section;
    try {
      section = judge(folder);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      section = Section{"", {error.what()}, {}, {}};
      problems.push_back(error.what());
    }
    if (!section) continue;
    section->title = fmt::format("{}{}", title, folder.path.string());
    sections.push_back(std::move(*section));
  }
  if (sections.empty() && problems.empty()) fail("{}: {}", path, none_there);
  const int exit_code = print_sections(sections, options);
  refuse(problems);
  return exit_code;
}

constexpr std::string_view kNoLogs = "no result_*.txt under it";

int check_rcp(const CheckOptions& options) {
  const auto choice = choose_ruleset(options, options.paths.front());
  const PointFolders points = point_folders(options.rules, options.rcp);
  ListingProblems unwritten;
  const int exit_code = check_folders(
      options, "",
      [&](const ResultFolder& folder) {
        Section section;
        std::vector<compliance::RunConvergence> runs;
        for (const fs::path& path : folder.logs) {
          const EventLog log(path, compliance::LogFormat::kMllog);
          runs.push_back(
              compliance::read_convergence(log, choice.ruleset, options.bert_train_samples));
          if (log.bad_line_count() == 0) continue;
          section.warnings.push_back(fmt::format(
              "{}: {} ':::MLLOG' but no event, passed over; the first is line {}: {}",
              path.filename().string(),
              counted(log.bad_line_count(), "line that holds", "lines that hold"),
              log.line_number(log.bad_lines().front().offset), log.bad_lines().front().reason));
        }
        const auto together = compliance::combine(runs);
        const auto verdict =
            options.custom_rcps.empty()
                ? compliance::check_rcp(together, points.directory, choice.usage, choice.ruleset,
                                        rcp_pass(options), points.others)
                : compliance::check_rcp_by(options.custom_rcps, together, choice.usage,
                                           choice.ruleset, rcp_pass(options));
        const std::string text = compliance::rcp_text(verdict);
        if (!verdict.points.empty()) {
          section.notes.push_back(fmt::format("points: {} (sha256 {})", verdict.points,
                                              verdict.points_sha256.substr(0, 16)));
        }
        if (verdict.outcome() == Outcome::kFailed && options.rcp_bypass && verdict.may_bypass()) {
          section.warnings.push_back(text + "; accepted by --rcp-bypass, to be reviewed");
        } else if (verdict.outcome() == Outcome::kFailed) {
          section.errors.push_back(text);
        } else {
          section.judged = verdict.outcome() == Outcome::kPassed;
          section.notes.push_back(text);
        }
        for (std::string& line : compliance::rcp_details(verdict))
          section.notes.push_back(std::move(line));
        section.rcp = verdict;
        if (!options.write_scaling) return section;
        const auto written = compliance::write_scaling(folder.path, verdict);
        if (!written.note.empty()) section.notes.push_back(written.note);
        if (!written.problem.empty()) unwritten.push_back(written.problem);
        return section;
      },
      kNoLogs);
  refuse(unwritten);
  return exit_code;
}

int check_seeds(const CheckOptions& options) {
  std::string no_rule;  // of the round
  try {
    const auto choice =
        compliance::infer_ruleset_of_tree(options.paths.front(), options.usage, options.ruleset);
    if (compliance::compare_versions(choice.ruleset, "1.0.0") < 0) {
      no_rule = fmt::format("no rule of {} {} asks for seeds", choice.usage, choice.ruleset);
    }
  } catch (const Error&) {
    // Nothing names a round. Every round since seeds were required asks for them.
  }
  return check_folders(
      options, "Seeds ",
      [&](const ResultFolder& folder) {
        if (!no_rule.empty()) return Section{"", {}, {}, {no_rule}, false};
        std::vector<compliance::LogSeeds> seeds;
        for (const fs::path& log : folder.logs)
          seeds.push_back(compliance::read_seeds(EventLog(log, compliance::LogFormat::kMllog)));
        return compliance::check_seeds(seeds);
      },
      kNoLogs);
}

int check_power(const CheckOptions& options) {
  return check_folders(
      options, "Power ",
      [](const ResultFolder& folder) -> std::optional<Section> {
        const fs::path power = folder.path / "power";
        if (what_is_at(power) == "not there") return std::nullopt;
        return compliance::check_power(power, folder.logs).section;
      },
      "no result folder under it has power logs (power/result_N/node_I.txt)");
}

// Reads the round from the results of the system that the description names, else from all results
// of its submission.
compliance::RulesetChoice choose_ruleset_of_system(const CheckOptions& options,
                                                   const fs::path& description) {
  const fs::path results = fs::absolute(description).parent_path().parent_path() / "results";
  std::error_code ignored;
  for (const fs::path& tree : {results / description.stem(), results}) {
    if (!fs::is_directory(tree, ignored)) continue;
    try {
      return compliance::infer_ruleset_of_tree(tree, options.usage, options.ruleset);
    } catch (const Error&) {
      // The path may name the round.
    }
  }
  auto choice = compliance::infer_ruleset_from_path(description, options.usage);
  if (choice.usage.empty()) choice.usage = "training";
  if (!options.ruleset.empty()) choice.ruleset = options.ruleset;
  if (fs::is_directory(description, ignored)) {
    fail("{}: is a folder; give the system descriptions in it: systems/*.json",
         description.string());
  }
  if (choice.ruleset.empty()) {
    fail("{}: neither its path nor the results of its system name a round; give --ruleset",
         description.string());
  }
  return choice;
}

int check_systems(const CheckOptions& options) {
  std::vector<Section> sections;
  ListingProblems problems;
  for (const std::string& path : options.paths) {
    const auto choice = choose_ruleset_of_system(options, path);
    sections.push_back(compliance::check_system_description(path, choice.usage, choice.ruleset));
    sections.back().title += fmt::format(" ({} {})", choice.usage, choice.ruleset);
    if (const std::string what = what_is_at(path); what != "a regular file")
      problems.push_back(fmt::format("{}: is {}, not a description", path, what));
  }
  const int exit_code = print_sections(sections, options);
  refuse(problems);
  return exit_code;
}

int check_repository(const CheckOptions& options) {
  return print_sections({compliance::check_repository(options.paths.front())}, options);
}

// Adds a subcommand that runs `run`; the caller adds the options that concern it.
CLI::App* add(CLI::App& check, const std::shared_ptr<CheckOptions>& options, int& exit_code,
              const std::string& name, const std::string& help,
              const std::function<int(const CheckOptions&)>& run) {
  CLI::App* command = check.add_subcommand(name, help);
  command->add_flag("--json", options->json, "Print JSON");
  command->add_flag(
      "--quiet", options->quiet,
      "Print what failed and how much passed alone; leave warnings out, but for those "
      "that --werror made errors");
  command->add_flag("--require-verdict", options->require_verdict,
                    "Exit with code 1 if something was not judged, too");
  names_output(command->add_option("--log-output,--log_output", options->log_output,
                                   "Also write what is printed to this file"))
      ->type_name("FILE");
  command->callback([options, &exit_code, run] { exit_code = run(*options); });
  return command;
}

void add_ruleset(CLI::App& command, CheckOptions& options) {
  add_ruleset_options(command, options.ruleset, options.usage);
}

void add_rules(CLI::App& command, CheckOptions& options) {
  add_rules_option(command, options.rules);
  command.add_flag("--werror", options.werror, "Count warnings as errors");
  command.add_flag("--strict", options.strict,
                   "Count what the review finds as errors: what no rule asks for");
  command.add_option("--threads", options.threads, "Threads that read logs (default: one a core)");
}

void add_formats(CLI::App& command, CheckOptions& options) {
  names_output(command.add_option("--sarif", options.sarif,
                                  "Also write the findings to this file as SARIF 2.1.0"))
      ->type_name("FILE");
  names_output(command.add_option("--junit", options.junit,
                                  "Also write the verdicts to this file as JUnit XML"))
      ->type_name("FILE");
  command
      .add_flag("--github", options.github,
                "Print GitHub's workflow commands, which annotate files, and nothing else")
      ->excludes(command.get_option("--json"));
}

void add_rcp(CLI::App& command, CheckOptions& options) {
  add_rcp_option(command, options.rcp);
  command
      .add_option("--rcp-pass", options.rcp_pass,
                  "pruned: without dominated points (default), or full")
      ->check(CLI::IsMember({"pruned", "full", "pruned_rcps", "full_rcps"}));
  command.add_flag(
      "--write-scaling", options.write_scaling,
      "Write scaling.json where the check asks for a factor; none that is there is replaced");
  command.add_flag(
      "--rcp-bypass", options.rcp_bypass,
      "Runs that converge too fast, or at a batch size without a point, are a warning");
  command.add_flag(
      "--rcp-bert-train-samples,--bert_train_samples", options.bert_train_samples,
      "BERT's samples to converge are what train_samples says, not the last evaluation");
}

void add_directory(CLI::App& command, CheckOptions& options, const std::string& help) {
  command.add_option("DIR", options.paths, help)->required()->expected(1);
}

}  // namespace

void add_check_command(CLI::App& app, int& exit_code) {
  CLI::App* check =
      app.add_subcommand("check", "Check logs and submissions against the MLPerf rules");
  check->require_subcommand(1);
  const auto options = std::make_shared<CheckOptions>();
  const auto add_one = [&](const std::string& name, const std::string& help,
                           const std::function<int(const CheckOptions&)>& run) {
    return add(*check, options, exit_code, name, help, run);
  };

  CLI::App* log = add_one("log", "Each log against its round's rules", check_logs);
  log->add_option("FILE", options->paths, "Logs, or folders whose result_*.txt are checked")
      ->required();
  add_ruleset(*log, *options);
  add_rules(*log, *options);
  add_formats(*log, *options);

  for (const bool whole_round : {false, true}) {
    CLI::App* package = add_one(
        whole_round ? "round" : "package",
        whole_round ? "All submitters of a round"
                    : "A submission: result files, logs, seeds, convergence, systems",
        [whole_round](const CheckOptions& given) { return check_packages(given, whole_round); });
    add_directory(*package, *options,
                  whole_round ? "Folder of submitters" : "Folder with results/ and systems/");
    add_ruleset(*package, *options);
    add_rules(*package, *options);
    add_formats(*package, *options);
    add_rcp(*package, *options);
    package->add_flag("--seed-checker-bypass", options->seed_bypass, "Do not check seeds");
  }

  CLI::App* rcp = add_one("rcp", "Convergence against the reference convergence points", check_rcp);
  add_directory(*rcp, *options, "Result folder, or a folder of such");
  add_ruleset(*rcp, *options);
  add_rules_option(*rcp, options->rules);
  add_rcp(*rcp, *options);
  rcp->add_option("--custom-rcps,--custom_rcps", options->custom_rcps,
                  "Judge by the points of this file, in the official format")
      ->type_name("FILE")
      ->excludes(rcp->get_option("--rcp"));

  CLI::App* system = add_one("system", "System descriptions", check_systems);
  system->add_option("FILE", options->paths, "systems/<system>.json")->required();
  add_ruleset(*system, *options);

  CLI::App* seeds = add_one("seeds", "Seeds: logged, and different in each run", check_seeds);
  add_directory(*seeds, *options, "Result folder, or a folder of such");
  add_ruleset(*seeds, *options);
  add_directory(*add_one("power", "Power logs: all there, and numbered", check_power), *options,
                "Result folder, or a folder of such");
  add_directory(*add_one("repo", "File names, sizes and links that git can hold", check_repository),
                *options, "Submission");
}

}  // namespace strata::cli
