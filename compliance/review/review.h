// All checks of one log, and the findings that several logs share.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "compliance/checks/check_log.h"
#include "compliance/checks/review_finding.h"
#include "compliance/review/run_record.h"

namespace strata::compliance {

// Returns the findings about evaluation schedule and clock, and about
// - review/log/several-on-a-line: events that were not read, since another follows on their line.
// - review/log/swallowed: an event whose value or metadata look like they hold another.
std::vector<ReviewFinding> review_log(const mllog::LogReader& log, const RunRecord& record,
                                      std::string_view ruleset);

// Adds the findings of review_log to `verdict`, as errors if `strict`.
void review_verdict(const mllog::LogReader& log, bool strict, LogVerdict& verdict);

// Keeps the first finding of every id and adds how many of the logs have one.
std::vector<ReviewFinding> merge_findings(std::vector<std::vector<ReviewFinding>> logs);

// Collects the findings about names that a submission's logs lack, so that they are reported once
// instead of once per folder.
class Placeholders {
 public:
  // Moves such findings out of those of the result folder that `folder` names.
  void take(std::vector<ReviewFinding>& findings, const std::string& folder);
  // Returns one finding with the number of folders, or none if no folder had any.
  std::vector<ReviewFinding> merged() const;

 private:
  std::vector<ReviewFinding> first_;  // at most one
  std::string first_folder_, last_folder_;
  size_t folders_ = 0;
};

}  // namespace strata::compliance
