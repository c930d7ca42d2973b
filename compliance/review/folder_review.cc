#include "compliance/review/folder_review.h"

#include <iterator>
#include <utility>

#include "compliance/checks/published_target.h"
#include "compliance/checks/rounds.h"
#include "compliance/review/review.h"
#include "compliance/review/unlike_runs.h"

namespace strata::compliance {
namespace {

void append(std::vector<Remark>& all, std::vector<Remark> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

ReviewedRun review_run(const EventLog& log, const ReviewedFolder& folder,
                       const DescribedSystem& system) {
  ReviewedRun run{read_run_record(log), {}};
  run.remarks = review_log(log, run.record, folder.ruleset);
  append(run.remarks,
         place(review_system(run.record, folder.weak_scaling ? without_counts(system) : system,
                             folder.benchmark),
               log));
  return run;
}

RunsReview review_folder(const ReviewedFolder& folder, std::vector<std::vector<Remark>> of_logs,
                         const std::vector<RunRecord>& runs, std::span<const RunSettings> settings,
                         const std::vector<RunRecord>& others) {
  std::vector<Remark> remarks = merge_remarks(std::move(of_logs));
  append(remarks, review_same_system(runs));
  append(remarks, review_settings(settings, folder.usage == "training"
                                                ? published_target(folder.benchmark, folder.ruleset)
                                                : std::nullopt));
  RunsReview review = review_runs(
      runs, others, static_cast<size_t>(result_file_count(folder.usage, folder.benchmark)),
      dropped_runs(folder.benchmark), folder.weak_scaling);
  append(remarks, std::move(review.remarks));
  review.remarks = std::move(remarks);
  return review;
}

}  // namespace strata::compliance
