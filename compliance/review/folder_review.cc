#include "compliance/review/folder_review.h"

#include <iterator>
#include <utility>

#include "compliance/checks/published_target.h"
#include "compliance/checks/rounds.h"
#include "compliance/review/review.h"
#include "compliance/review/unlike_runs.h"

namespace strata::compliance {
namespace {

void append(std::vector<ReviewFinding>& all, std::vector<ReviewFinding> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

ReviewedRun review_run(const mllog::LogReader& log, const ReviewedFolder& folder,
                       const DescribedSystem& system) {
  ReviewedRun run{read_run_record(log), {}};
  run.findings = review_log(log, run.record, folder.ruleset);
  append(run.findings,
         place(review_system(run.record, folder.weak_scaling ? without_counts(system) : system,
                             folder.benchmark),
               log));
  return run;
}

RunsReview review_folder(const ReviewedFolder& folder,
                         std::vector<std::vector<ReviewFinding>> of_logs,
                         const std::vector<RunRecord>& runs, std::span<const RunSettings> settings,
                         const std::vector<RunRecord>& others) {
  std::vector<ReviewFinding> findings = merge_findings(std::move(of_logs));
  append(findings, review_same_system(runs));
  append(findings,
         review_settings(settings, folder.usage == "training"
                                       ? published_target(folder.benchmark, folder.ruleset)
                                       : std::nullopt));
  RunsReview review = review_runs(
      runs, others, static_cast<size_t>(result_file_count(folder.usage, folder.benchmark)),
      dropped_runs(folder.benchmark), folder.weak_scaling);
  append(findings, std::move(review.findings));
  review.findings = std::move(findings);
  return review;
}

}  // namespace strata::compliance
