#include <algorithm>
#include <string>
#include <vector>

#include "cli/check/verdicts.h"
#include "cli/options/rule_options.h"
#include "cli/output/listing.h"
#include "cli/output/progress.h"
#include "compliance/package/package.h"
#include "compliance/package/report.h"
#include "compliance/package/scaling.h"

namespace strata::cli {
namespace {

using compliance::ListingProblems;
using compliance::Outcome;
using compliance::Section;

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
  out.rcp_pass = options.pass();
  out.rcp_bypass = options.rcp_bypass;
  out.seed_bypass = options.seed_bypass;
  out.bert_train_samples = options.bert_train_samples;
  out.quiet = options.quiet;
  out.threads = options.threads;
  out.progress = [&progress](size_t done, size_t total) { progress.update(done, total); };
  return out;
}

// Writes scaling.json for every folder whose convergence was judged, and notes it in the folder's
// section. Returns the errors of files that could not be written.
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

}  // namespace

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
    // No more is printed: see check_logs().
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

}  // namespace strata::cli
