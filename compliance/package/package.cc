#include "compliance/package/package.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <new>
#include <optional>

#include "base/error.h"
#include "base/files/files.h"
#include "base/files/lines.h"
#include "base/text/counts.h"
#include "base/threads/parallel.h"
#include "compliance/checks/rounds.h"
#include "compliance/package/checker_params.h"
#include "compliance/package/power.h"
#include "compliance/package/report.h"
#include "compliance/package/system_description.h"
#include "compliance/review/folder_review.h"
#include "compliance/review/headroom.h"
#include "compliance/review/review.h"

namespace strata::compliance {
namespace {

namespace fs = std::filesystem;

// Everything one reading of a log gives.
struct LogFacts {
  LogVerdict verdict;
  RunConvergence convergence;
  LogSeeds seeds;
  RunRecord record;
  RunSettings settings;
};

bool is_closed(const FolderVerdict& folder) { return folder.division == "closed"; }

// The folders of a submission that may hold results, whether or not they do.
std::vector<ResultFolder> list_folders(const fs::path& directory, const std::string& usage,
                                       ListingProblems& problems) {
  std::vector<ResultFolder> found;
  for (const fs::path& system : subfolders(directory / "results", &problems)) {
    const auto add = [&](const fs::path& path, bool weak, bool strong) {
      ResultFolder folder;
      folder.path = path;
      folder.submitter_path = directory;
      folder.submitter = directory.filename().string();
      folder.system = system.filename().string();
      folder.benchmark = path.filename().string();
      folder.weak_scaling = weak;
      folder.strong_scaling = strong;
      folder.logs = result_logs(path, &problems);
      found.push_back(std::move(folder));
    };
    for (const fs::path& inner : subfolders(system, &problems)) {
      if (usage != "hpc") {
        add(inner, false, false);
        continue;
      }
      for (const fs::path& benchmark : subfolders(inner, &problems))
        add(benchmark, inner.filename() == "weak", inner.filename() == "strong");
    }
  }
  return found;
}

// What Strata writes beside a log result_N.txt.
bool is_of_a_run(const std::string& name, const std::vector<fs::path>& logs) {
  return std::any_of(logs.begin(), logs.end(), [&](const fs::path& log) {
    const std::string run = log.stem().string();
    if (!name.starts_with(run)) return false;
    for (const char* ending : {".yaml", ".steps.jsonl", ".timeline.json", ".safetensors"}) {
      if (name.substr(run.size()) == ending) return true;
    }
    return false;
  });
}

Section check_files(const FolderVerdict& verdict, const std::string& usage) {
  const ResultFolder& folder = verdict.folder;
  Section section{"Result files", {}, {}, {}};
  const auto wanted = static_cast<size_t>(result_file_count(usage, folder.benchmark));
  const size_t found = folder.logs.size();
  if (folder.weak_scaling ? found < wanted : found != wanted) {
    section.errors.push_back(fmt::format("found {} result_*.txt, wanted {}{}",
                                         counted(found, "file"),
                                         folder.weak_scaling ? "at least " : "", wanted));
  }
  ListingProblems told;  // already, of the same folder
  for (const fs::path& file : files(folder.path, &told)) {
    const std::string name = file.filename().string();
    const bool known =
        std::find(folder.logs.begin(), folder.logs.end(), file) != folder.logs.end() ||
        name == "package_checker_params" || name == "scaling.json" ||
        is_of_a_run(name, folder.logs);
    if (known) continue;
    if (name.starts_with("result_") && name.ends_with(".txt")) {
      section.errors.push_back(fmt::format("{} is {}, not a log", name, what_is_at(file)));
    } else {
      section.warnings.push_back(
          fmt::format("unknown file {}; should it be called result_*.txt?", name));
    }
  }
  for (const fs::path& inner : subfolders(folder.path, &told)) {
    const std::string name = inner.filename().string();
    if (name.starts_with("result_") && name.ends_with(".txt"))
      section.errors.push_back(fmt::format("{} is a folder, not a log", name));
  }
  return section;
}

// At most as many logs may fail as olympic scoring drops.
Section check_logs(const FolderVerdict& verdict) {
  Section section{"Logs", {}, {}, {}};
  std::set<std::string> failed;
  for (const LogVerdict& log : verdict.logs) {
    if (log.outcome() == Outcome::kFailed) failed.insert(log.path.stem().string());
    for (const std::string& note : log.notes) {
      section.notes.push_back(fmt::format("{}: {}", log.path.filename().string(), note));
    }
    if (log.outcome() != Outcome::kNotJudged || !section.judged) continue;
    section.judged = false;
    section.notes.push_back(log.not_judged);
  }
  std::error_code error;
  const fs::path power = verdict.folder.path / "power";
  if (fs::exists(power, error)) {
    PowerVerdict checked = check_power(power, verdict.folder.logs);
    for (auto* texts : {&checked.section.errors, &checked.section.warnings}) {
      section.warnings.insert(section.warnings.end(), texts->begin(), texts->end());
    }
    failed.merge(checked.failed_runs);
  }
  if (failed.empty()) return section;
  const auto allowed = static_cast<size_t>(dropped_runs(verdict.folder.benchmark));
  const std::string names =
      fmt::format("{} of {} {}: {}", failed.size(), counted(verdict.logs.size(), "run"),
                  failed.size() == 1 ? "fails" : "fail", fmt::join(failed, ", "));
  if (failed.size() <= allowed) {
    section.warnings.push_back(names + "; accepted, since olympic scoring drops as many");
  } else {
    section.errors.push_back(fmt::format("{}; at most {} may", names, allowed));
  }
  return section;
}

Section describe_rcp(const RcpVerdict& verdict, bool bypass) {
  Section section{"Reference convergence", {}, {}, {}};
  if (!verdict.readable) {
    section.errors.push_back("cannot be judged: " + verdict.message);
    return section;
  }
  if (!verdict.judged) {
    section.judged = false;
    section.notes.push_back(verdict.message);
    return section;
  }
  std::string text = rcp_text(verdict);
  if (verdict.passed) {
    section.notes.push_back(std::move(text));
  } else if (bypass && verdict.may_bypass()) {
    section.warnings.push_back(text + "; accepted by rcp-bypass, to be reviewed");
  } else {
    section.errors.push_back(std::move(text));
  }
  return section;
}

// What the review of a folder goes by.
struct FolderFacts {
  FolderConvergence convergence;
  std::vector<RunRecord> runs;
  std::vector<RunSettings> settings;
};

FolderFacts judge_folder(FolderVerdict& verdict, std::vector<LogFacts> facts,
                         const CheckerParams& of_system, const PackageOptions& options) {
  FolderFacts folder;
  std::vector<RunConvergence> convergence;
  std::vector<LogSeeds> seeds;
  for (LogFacts& fact : facts) {
    folder.runs.push_back(std::move(fact.record));
    folder.settings.push_back(std::move(fact.settings));
    verdict.logs.push_back(std::move(fact.verdict));
    convergence.push_back(std::move(fact.convergence));
    seeds.push_back(std::move(fact.seeds));
  }
  verdict.sections.push_back(check_files(verdict, options.usage));
  verdict.sections.push_back(check_logs(verdict));
  if (!is_closed(verdict) || compare_versions(options.ruleset, "1.0.0") < 0) return folder;
  const CheckerParams params = read_checker_params(verdict.folder.path);
  if (options.seed_bypass || of_system.seed_bypass || params.seed_bypass) {
    verdict.sections.push_back({"Seeds", {}, {}, {"not checked: seed-checker-bypass"}});
  } else {
    verdict.sections.push_back(check_seeds(seeds));
    verdict.seeds_passed = verdict.sections.back().passed();
  }
  if (verdict.folder.benchmark == "minigo" || verdict.logs.empty()) return folder;
  folder.convergence = combine(convergence);
  verdict.rcp = check_rcp(folder.convergence, options.rcp, options.usage, options.ruleset,
                          options.rcp_pass, options.other_rcp);
  verdict.sections.push_back(
      describe_rcp(verdict.rcp, options.rcp_bypass || of_system.rcp_bypass || params.rcp_bypass));
  return folder;
}

ReviewedFolder reviewed(const ResultFolder& folder, const PackageOptions& options) {
  return {options.usage, options.ruleset, folder.benchmark, folder.weak_scaling};
}

// Runs in folders below a result folder, that are not among those submitted.
std::vector<RunRecord> runs_beside(const FolderVerdict& verdict,
                                   const std::vector<RunRecord>& submitted) {
  std::vector<RunRecord> runs;
  ListingProblems ignored;  // nothing is scored of what lies there
  for (const fs::path& inner : subfolders(verdict.folder.path, &ignored)) {
    for (const fs::path& path : result_logs(inner, &ignored)) {
      try {
        RunRecord run = read_run_record(EventLog(path));
        std::vector<const RunRecord*> all;
        for (const RunRecord& other : submitted) all.push_back(&other);
        all.push_back(&run);
        if (find_same_runs(all).empty()) runs.push_back(std::move(run));
      } catch (const std::bad_alloc&) {
        throw;
      } catch (const std::exception&) {
        // No log.
      }
    }
  }
  return runs;
}

void add_review(FolderVerdict& verdict, const FolderFacts& facts,
                std::vector<std::vector<Remark>> remarks,
                const std::vector<PublishedConvergence>& published, const PackageOptions& options) {
  RunsReview review = review_folder(reviewed(verdict.folder, options), std::move(remarks),
                                    facts.runs, facts.settings, runs_beside(verdict, facts.runs));
  Section section{"Review", {}, {}, {}};
  section.remarks = std::move(review.remarks);
  section.notes = std::move(review.notes);
  std::optional<ReferencePoints> points;
  if (verdict.rcp.judged && !verdict.rcp.submission_mean) {
    const std::string& benchmark = verdict.folder.benchmark;
    points = load_reference_points(options.rcp, options.usage, options.ruleset, benchmark);
    for (size_t i = 0; !points && i < options.other_rcp.size(); ++i)
      points =
          load_reference_points(options.other_rcp[i], options.usage, options.ruleset, benchmark);
  }
  const std::string nearest =
      facts.convergence.batch_size
          ? describe_nearest(*facts.convergence.batch_size,
                             verdict.folder.submitter + ' ' + verdict.folder.system, published)
          : "";
  std::vector<std::string> headroom = describe_headroom(verdict.rcp, facts.convergence, facts.runs,
                                                        points ? &*points : nullptr, nearest);
  for (std::string& text : headroom) {
    if (verdict.rcp.outcome() == Outcome::kFailed) {
      section.remarks.push_back(
          {"review/convergence/headroom", std::move(text), verdict.folder.path, 0});
    } else {
      section.notes.push_back(std::move(text));
    }
  }
  auto& said = options.strict ? section.errors : section.warnings;
  for (const Remark& remark : section.remarks) said.push_back(remark.describe());
  verdict.sections.push_back(std::move(section));
}

// The results of a round that converged as they should, by benchmark.
std::map<std::string, std::vector<PublishedConvergence>> published_by_benchmark(
    const std::vector<PackageVerdict>& packages,
    const std::map<const FolderVerdict*, FolderFacts>& facts) {
  std::map<std::string, std::vector<PublishedConvergence>> published;
  for (const PackageVerdict& package : packages) {
    for (const FolderVerdict& folder : package.folders) {
      const auto found = facts.find(&folder);
      if (found == facts.end() || folder.rcp.outcome() != Outcome::kPassed ||
          !folder.rcp.submission_mean || !found->second.convergence.batch_size) {
        continue;
      }
      published[folder.folder.benchmark].push_back(
          {folder.folder.submitter + ' ' + folder.folder.system,
           *found->second.convergence.batch_size, *folder.rcp.submission_mean});
    }
  }
  return published;
}

// What cannot be read is the description's error, and is added to `unread`.
Section check_description(const fs::path& file, const PackageOptions& options,
                          ListingProblems& unread) {
  try {
    Section section = check_system_description(file, options.usage, options.ruleset);
    section.path = file;
    return section;
  } catch (const ReadError& error) {
    unread.push_back(error.what());
    return {"System description " + file.filename().string(), {error.what()}, {}, {}, true, file};
  }
}

// Nothing where that cannot be read, which is then in `unread`.
std::string division_of(const fs::path& system, ListingProblems& unread) {
  try {
    return system_division(system);
  } catch (const ReadError& error) {
    if (std::ranges::find(unread, error.what()) == unread.end()) unread.push_back(error.what());
    return {};
  }
}

// A package whose folders are known but whose logs are not yet read.
PackageVerdict begin_package(const fs::path& directory, const PackageOptions& options) {
  std::error_code error;
  if (!fs::is_directory(directory / "results", error) ||
      !fs::is_directory(directory / "systems", error)) {
    fail("{}: a submission holds results/ and systems/", directory.string());
  }
  PackageVerdict package;
  ListingProblems problems;
  package.path = fs::absolute(directory, error).lexically_normal();
  if (!package.path.has_filename()) package.path = package.path.parent_path();
  package.submitter = package.path.filename().string();
  // Before round 1.0 system descriptions were not checked.
  const bool check_systems = compare_versions(options.ruleset, "1.0.0") >= 0;
  for (const fs::path& file :
       check_systems ? files(directory / "systems", &problems) : std::vector<fs::path>()) {
    // As the official tool's glob, which passes over hidden files.
    if (file.extension() == ".json" && !file.filename().string().starts_with('.'))
      package.systems.push_back(check_description(file, options, package.unread));
  }
  const auto& benchmarks = round_benchmarks(options.usage, options.ruleset);
  for (ResultFolder& folder : list_folders(package.path, options.usage, problems)) {
    FolderVerdict verdict;
    verdict.skipped =
        std::find(benchmarks.begin(), benchmarks.end(), folder.benchmark) == benchmarks.end();
    const fs::path system = package.path / "systems" / (folder.system + ".json");
    verdict.division = division_of(system, package.unread);
    if (!fs::is_regular_file(system, error)) {
      const std::string what = what_is_at(system);
      verdict.sections.push_back(
          {"System",
           {fmt::format("systems/{}.json is {}", folder.system,
                        what == "not there" ? "missing" : what + ", not a description")},
           {},
           {}});
    }
    if (verdict.skipped) {
      const std::string reason = fmt::format("'{}' is not a benchmark of {} {}: skipped",
                                             folder.benchmark, options.usage, options.ruleset);
      verdict.sections.push_back({"Benchmark", {}, {}, {reason}, false});
    }
    verdict.folder = std::move(folder);
    package.folders.push_back(std::move(verdict));
  }
  if (!problems.empty()) package.systems.push_back({"Folders", problems, {}, {}});
  package.unread.insert(package.unread.end(), problems.begin(), problems.end());
  return package;
}

// Adds the section "Review" to every folder with logs, and to a package whose logs lack its names.
void review_packages(std::vector<PackageVerdict>& packages,
                     const std::map<const FolderVerdict*, FolderFacts>& judged,
                     const PackageOptions& options) {
  const auto published = published_by_benchmark(packages, judged);
  std::vector<const RunRecord*> runs;
  for (const PackageVerdict& package : packages) {
    for (const FolderVerdict& folder : package.folders) {
      const auto found = judged.find(&folder);
      if (found == judged.end()) continue;
      for (const RunRecord& run : found->second.runs) runs.push_back(&run);
    }
  }
  std::map<fs::path, Remark> same_runs;
  for (Remark& remark : find_same_runs(runs)) same_runs.emplace(remark.path, std::move(remark));
  for (PackageVerdict& package : packages) {
    Placeholders placeholders;
    for (FolderVerdict& folder : package.folders) {
      const auto found = judged.find(&folder);
      if (found == judged.end() || folder.logs.empty()) continue;
      std::vector<std::vector<Remark>> remarks;
      for (LogVerdict& log : folder.logs) {
        const auto same = same_runs.find(log.path);
        if (same != same_runs.end()) log.review.push_back(same->second);
        placeholders.take(log.review, folder.folder.path.lexically_relative(package.path).string());
        remarks.push_back(log.review);
      }
      const auto others = published.find(folder.folder.benchmark);
      add_review(folder, found->second, std::move(remarks),
                 others == published.end() ? std::vector<PublishedConvergence>() : others->second,
                 options);
    }
    Section section{"Review", {}, {}, {}};
    section.remarks = placeholders.remark();
    if (section.remarks.empty()) continue;
    auto& said = options.strict ? section.errors : section.warnings;
    said.push_back(section.remarks.front().describe());
    package.systems.push_back(std::move(section));
  }
}

// Whatever is wrong with the log is its own verdict.
LogFacts read_facts(const fs::path& path, const ResultFolder& folder, const DescribedSystem& system,
                    LogFormat format, RuleStore& rules, const PackageOptions& options) {
  LogFacts facts;
  try {
    const EventLog log(path, format);
    facts.verdict = check_log(log, rules, options.usage, options.ruleset, options.werror);
    facts.convergence = read_convergence(log, options.ruleset, options.bert_train_samples);
    facts.seeds = read_seeds(log);
    facts.settings = read_settings(log);
    ReviewedRun run = review_run(log, reviewed(folder, options), system);
    facts.record = std::move(run.record);
    facts.verdict.review = std::move(run.remarks);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    facts.verdict = unreadable_log(path, error.what());
    facts.convergence.problem = facts.seeds.problem = error.what();
    facts.seeds.path = path;
    facts.record = {};
    facts.record.path = path;
  }
  return facts;
}

// The options of the command and those that the submission's root brings along, which its verdict
// says.
PackageOptions with_params(PackageOptions options, PackageVerdict& package) {
  const CheckerParams params = read_checker_params(package.path);
  if (params.empty()) return options;
  options.rcp_bypass |= params.rcp_bypass;
  options.seed_bypass |= params.seed_bypass;
  options.bert_train_samples |= params.bert_train_samples;
  options.quiet |= params.quiet;
  options.werror |= params.werror;
  Section section{kParameters, {}, {}, {}, true, package.path / "package_checker_params"};
  for (const std::string& line : params.given)
    section.notes.push_back(fmt::format("package_checker_params of the submission: {}", line));
  for (const std::string& line : params.unknown) {
    section.warnings.push_back(fmt::format(
        "package_checker_params of the submission: '{}' is none of its options", one_line(line)));
  }
  package.systems.push_back(std::move(section));
  return options;
}

// All that a submission may ask for: what the review finds stays.
void drop_log_warnings(PackageVerdict& package) {
  for (FolderVerdict& folder : package.folders) {
    for (LogVerdict& log : folder.logs) log.warnings.clear();
  }
}

// With `strict` the review's remarks are errors.
void drop_warnings(PackageVerdict& package, bool strict) {
  const auto drop = [&](Section& section) {
    section.warnings.clear();
    if (!strict) section.remarks.clear();
  };
  std::ranges::for_each(package.systems, drop);
  for (FolderVerdict& folder : package.folders) {
    std::ranges::for_each(folder.sections, drop);
    for (LogVerdict& log : folder.logs) {
      log.warnings.clear();
      if (!strict) log.review.clear();
    }
  }
}

// Without a single folder that the round's rules are about the package is not judged.
void note_nothing_judged(PackageVerdict& package, const PackageOptions& options) {
  const auto skipped = [](const FolderVerdict& folder) { return folder.skipped; };
  if (!std::ranges::all_of(package.folders, skipped)) return;
  const std::string reason =
      package.folders.empty()
          ? "results/ holds no result folder, so that nothing was judged"
          : fmt::format(
                "no folder is of a benchmark of {} {}, so that nothing was judged; "
                "--usage and --ruleset choose another round",
                options.usage, options.ruleset);
  package.systems.push_back({"Results", {}, {}, {reason}, false});
}

void finish_packages(std::vector<PackageVerdict>& packages, RuleStore& rules,
                     const PackageOptions& options) {
  require_round(rules, options.usage, options.ruleset);
  struct Job {
    FolderVerdict* folder;
    const DescribedSystem* system;
    std::vector<LogFacts>* facts;
    size_t log;
    const PackageOptions* options;
  };
  std::map<fs::path, DescribedSystem> systems;
  std::vector<PackageOptions> own;  // of each submission
  for (PackageVerdict& package : packages) own.push_back(with_params(options, package));
  std::vector<std::vector<std::vector<LogFacts>>> facts(packages.size());
  std::vector<Job> jobs;
  for (size_t p = 0; p < packages.size(); ++p) {
    facts[p].resize(packages[p].folders.size());
    for (size_t f = 0; f < packages[p].folders.size(); ++f) {
      FolderVerdict& folder = packages[p].folders[f];
      if (folder.skipped) continue;
      const fs::path description = packages[p].path / "systems" / (folder.folder.system + ".json");
      const auto [system, is_new] = systems.try_emplace(description);
      if (is_new) system->second = described_system(description);
      facts[p][f].resize(folder.folder.logs.size());
      for (size_t log = 0; log < folder.folder.logs.size(); ++log)
        jobs.push_back({&folder, &system->second, &facts[p][f], log, &own[p]});
    }
  }
  const LogFormat format = options.ruleset == "0.6.0" ? LogFormat::kMll : LogFormat::kMllog;
  std::atomic<size_t> done{0};
  parallel_for(jobs.size(), options.threads, [&](size_t i) {
    const Job& job = jobs[i];
    const ResultFolder& folder = job.folder->folder;
    (*job.facts)[job.log] =
        read_facts(folder.logs[job.log], folder, *job.system, format, rules, *job.options);
    if (options.progress) options.progress(++done, jobs.size());
  });
  std::map<const FolderVerdict*, FolderFacts> judged;
  for (size_t p = 0; p < packages.size(); ++p) {
    for (size_t f = 0; f < packages[p].folders.size(); ++f) {
      FolderVerdict& folder = packages[p].folders[f];
      if (folder.skipped) continue;
      const CheckerParams of_system =
          read_checker_params(packages[p].path / "results" / folder.folder.system);
      judged.emplace(&folder, judge_folder(folder, std::move(facts[p][f]), of_system, own[p]));
      for (const LogVerdict& log : folder.logs) {
        if (!log.readable) packages[p].unread.push_back(log.errors.front().summary);
      }
    }
  }
  review_packages(packages, judged, options);
  for (PackageVerdict& package : packages) note_nothing_judged(package, options);
  for (size_t p = 0; p < packages.size(); ++p) {
    if (own[p].quiet) drop_log_warnings(packages[p]);
    if (options.quiet) drop_warnings(packages[p], options.strict);
  }
}

}  // namespace

Outcome PackageVerdict::outcome() const {
  Outcome outcome = outcome_of(systems);
  for (const FolderVerdict& folder : folders) {
    // The official checker passes over benchmarks that the round does not have, too.
    if (folder.skipped && folder.outcome() == Outcome::kNotJudged) continue;
    outcome = worse(outcome, folder.outcome());
  }
  return outcome;
}

PackageVerdict check_package(const fs::path& directory, RuleStore& rules,
                             const PackageOptions& options) {
  std::vector<PackageVerdict> packages;
  packages.push_back(begin_package(directory, options));
  finish_packages(packages, rules, options);
  return std::move(packages.front());
}

std::vector<PackageVerdict> check_round(const fs::path& directory, RuleStore& rules,
                                        const PackageOptions& options) {
  std::vector<PackageVerdict> packages;
  for (const fs::path& submitter : find_submitters(directory))
    packages.push_back(begin_package(submitter, options));
  if (packages.empty())
    fail("{}: holds no submitter (a folder with results/ and systems/)", directory.string());
  finish_packages(packages, rules, options);
  return packages;
}

}  // namespace strata::compliance
