// Checks a whole submission: everything in one submitter's folder.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "compliance/checks/check_log.h"
#include "compliance/checks/rcp.h"
#include "compliance/package/section.h"
#include "compliance/package/seeds.h"
#include "compliance/package/submission_tree.h"

namespace strata::compliance {

// The title of the section about a submission's package_checker_params.
inline constexpr char kParameters[] = "Parameters";

struct PackageOptions {
  std::string usage = "training";
  std::string ruleset;
  bool werror = false;
  bool strict = false;                           // findings of the review are errors
  std::filesystem::path rcp;                     // directory of reference points; empty: built in
  std::vector<std::filesystem::path> other_rcp;  // used if `rcp` has no points for a benchmark
  RcpPass rcp_pass = RcpPass::kPruned;
  bool rcp_bypass = false;          // convergence that is too fast, or has no points, is a warning
  bool seed_bypass = false;         // seeds are not checked
  bool bert_train_samples = false;  // see read_convergence
  bool quiet = false;               // verdicts without warnings
  unsigned threads = 0;             // 0: one per core
  std::function<void(size_t done, size_t total)> progress;  // after each log, from any thread
};

// One result folder of a submission.
struct FolderVerdict {
  ResultFolder folder;
  std::string division;
  bool skipped = false;  // a benchmark that the round does not have
  std::vector<Section> sections;
  std::vector<LogVerdict> logs;
  RcpVerdict rcp;  // of closed submissions, and of workloads that have points of their own
  bool seeds_passed = true;

  Outcome outcome() const { return outcome_of(sections); }
  bool passed() const { return outcome() == Outcome::kPassed; }
};

struct PackageVerdict {
  std::filesystem::path path;
  std::string submitter;
  std::vector<Section> systems;  // one per description; and folders that cannot be listed
  std::vector<FolderVerdict> folders;
  ListingProblems unread;  // folders that cannot be listed, files that cannot be read

  Outcome outcome() const;
  bool passed() const { return outcome() == Outcome::kPassed; }
};

// Throws Error if `directory` has no results/ and systems/, or the rules lack the ruleset.
PackageVerdict check_package(const std::filesystem::path& directory, RuleStore& rules,
                             const PackageOptions& options);

// Checks all submitters of a round, in order of their names.
std::vector<PackageVerdict> check_round(const std::filesystem::path& directory, RuleStore& rules,
                                        const PackageOptions& options);

}  // namespace strata::compliance
