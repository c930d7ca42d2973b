// The second step of the check of a submission: verdicts on logs and on the folders that hold them.
#pragma once

#include <filesystem>
#include <vector>

#include "compliance/checks/convergence.h"
#include "compliance/checks/run_settings.h"
#include "compliance/package/checker_params.h"
#include "compliance/package/package.h"
#include "compliance/review/described_system.h"
#include "compliance/review/folder_review.h"
#include "compliance/review/review.h"
#include "compliance/review/run_record.h"

namespace strata::compliance {

// Everything that one reading of a log gives.
struct LogFacts {
  LogVerdict verdict;
  RunConvergence convergence;
  LogSeeds seeds;
  RunRecord record;
  RunSettings settings;
};

// The review of a folder goes by these.
struct FolderFacts {
  FolderConvergence convergence;
  std::vector<RunRecord> runs;
  std::vector<RunSettings> settings;
};

// The folder as the review of its logs and of the whole folder knows it.
ReviewedFolder reviewed(const ResultFolder& folder, const PackageOptions& options);

// Reads and judges one log. Whatever is wrong with it is its own verdict.
LogFacts read_facts(const std::filesystem::path& path, const ResultFolder& folder,
                    const DescribedSystem& system, mllog::LogFormat format, RuleStore& rules,
                    const PackageOptions& options);

// Adds the sections of a folder whose logs were read. `of_system` are the parameters that its
// system brings along.
FolderFacts judge_folder(FolderVerdict& verdict, std::vector<LogFacts> facts,
                         const CheckerParams& of_system, const PackageOptions& options);

}  // namespace strata::compliance
