#include <fmt/format.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "base/threads/parallel.h"
#include "cli/check/verdicts.h"
#include "cli/options/rule_options.h"
#include "cli/output/listing.h"
#include "cli/output/progress.h"
#include "compliance/checks/check_log.h"
#include "compliance/package/report.h"
#include "compliance/package/submission_tree.h"
#include "compliance/review/review.h"

namespace strata::cli {
namespace {

namespace fs = std::filesystem;
using compliance::ListingProblems;
using compliance::LogVerdict;
using compliance::Outcome;
using mllog::LogReader;

// The files that were named, and the result_*.txt under the folders that were named.
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

}  // namespace

int check_logs(const CheckOptions& options) {
  const auto rules = compliance::open_rules(options.rules);
  ListingProblems problems;
  const std::vector<fs::path> files = expand(options.paths, problems);
  std::vector<LogVerdict> verdicts(files.size());
  const auto review = [&](const LogReader& log, LogVerdict& verdict) {
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
    // No more is printed, because the runner might take another line for a command.
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

}  // namespace strata::cli
