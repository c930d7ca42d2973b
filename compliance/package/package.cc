#include "compliance/package/package.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/text/printable.h"
#include "base/threads/parallel.h"
#include "compliance/package/checker_params.h"
#include "compliance/package/steps/judging.h"
#include "compliance/package/steps/listing.h"
#include "compliance/package/steps/reviewing.h"

namespace strata::compliance {
namespace {

namespace fs = std::filesystem;

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
        "package_checker_params of the submission: unknown option '{}'", one_line(line)));
  }
  package.systems.push_back(std::move(section));
  return options;
}

// A submission may ask for no more: the findings of the review stay.
void drop_log_warnings(PackageVerdict& package) {
  for (FolderVerdict& folder : package.folders) {
    for (LogVerdict& log : folder.logs) log.warnings.clear();
  }
}

// The review's findings are errors if `strict`.
void drop_warnings(PackageVerdict& package, bool strict) {
  const auto drop = [&](Section& section) {
    section.warnings.clear();
    if (!strict) section.findings.clear();
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

// A package is not judged if the round's rules are about none of its folders.
void note_nothing_judged(PackageVerdict& package, const PackageOptions& options) {
  const auto skipped = [](const FolderVerdict& folder) { return folder.skipped; };
  if (!std::ranges::all_of(package.folders, skipped)) return;
  const std::string reason = package.folders.empty()
                                 ? "results/ holds no result folder, so nothing was judged"
                                 : fmt::format(
                                       "no folder belongs to a benchmark of {} {}, so nothing was "
                                       "judged; choose another round with --usage and --ruleset",
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
  const mllog::LogFormat format =
      options.ruleset == "0.6.0" ? mllog::LogFormat::kMll : mllog::LogFormat::kMllog;
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
  packages.push_back(list_package(directory, options));
  finish_packages(packages, rules, options);
  return std::move(packages.front());
}

std::vector<PackageVerdict> check_round(const fs::path& directory, RuleStore& rules,
                                        const PackageOptions& options) {
  std::vector<PackageVerdict> packages;
  for (const fs::path& submitter : find_submitters(directory))
    packages.push_back(list_package(submitter, options));
  if (packages.empty())
    fail("{}: holds no submitter (a folder with results/ and systems/)", directory.string());
  finish_packages(packages, rules, options);
  return packages;
}

}  // namespace strata::compliance
