#include "compliance/package/steps/reviewing.h"

#include <filesystem>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "compliance/review/headroom.h"

namespace strata::compliance {
namespace {

namespace fs = std::filesystem;

// Runs in folders below a result folder that are not among the submitted runs.
std::vector<RunRecord> runs_beside(const FolderVerdict& verdict,
                                   const std::vector<RunRecord>& submitted) {
  std::vector<RunRecord> runs;
  ListingProblems ignored;  // nothing is scored of what lies there
  for (const fs::path& inner : subfolders(verdict.folder.path, &ignored)) {
    for (const fs::path& path : result_logs(inner, &ignored)) {
      try {
        RunRecord run = read_run_record(mllog::LogReader(path));
        std::vector<const RunRecord*> all;
        for (const RunRecord& other : submitted) all.push_back(&other);
        all.push_back(&run);
        if (find_same_runs(all).empty()) runs.push_back(std::move(run));
      } catch (const std::bad_alloc&) {
        throw;
      } catch (const std::exception&) {
        // The file is no log.
      }
    }
  }
  return runs;
}

void add_review(FolderVerdict& verdict, const FolderFacts& facts,
                std::vector<std::vector<ReviewFinding>> findings,
                const std::vector<PublishedConvergence>& published, const PackageOptions& options) {
  RunsReview review = review_folder(reviewed(verdict.folder, options), std::move(findings),
                                    facts.runs, facts.settings, runs_beside(verdict, facts.runs));
  Section section{"Review", {}, {}, {}};
  section.findings = std::move(review.findings);
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
      section.findings.push_back(
          {"review/convergence/headroom", std::move(text), verdict.folder.path, 0});
    } else {
      section.notes.push_back(std::move(text));
    }
  }
  auto& said = options.strict ? section.errors : section.warnings;
  for (const ReviewFinding& finding : section.findings) said.push_back(finding.describe());
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

}  // namespace

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
  std::map<fs::path, ReviewFinding> same_runs;
  for (ReviewFinding& finding : find_same_runs(runs))
    same_runs.emplace(finding.path, std::move(finding));
  for (PackageVerdict& package : packages) {
    Placeholders placeholders;
    for (FolderVerdict& folder : package.folders) {
      const auto found = judged.find(&folder);
      if (found == judged.end() || folder.logs.empty()) continue;
      std::vector<std::vector<ReviewFinding>> findings;
      for (LogVerdict& log : folder.logs) {
        const auto same = same_runs.find(log.path);
        if (same != same_runs.end()) log.review.push_back(same->second);
        placeholders.take(log.review, folder.folder.path.lexically_relative(package.path).string());
        findings.push_back(log.review);
      }
      const auto others = published.find(folder.folder.benchmark);
      add_review(folder, found->second, std::move(findings),
                 others == published.end() ? std::vector<PublishedConvergence>() : others->second,
                 options);
    }
    Section section{"Review", {}, {}, {}};
    section.findings = placeholders.merged();
    if (section.findings.empty()) continue;
    auto& said = options.strict ? section.errors : section.warnings;
    said.push_back(section.findings.front().describe());
    package.systems.push_back(std::move(section));
  }
}

}  // namespace strata::compliance
