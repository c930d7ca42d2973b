// All checks of one log together, and what several logs have in common.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "compliance/checks/check_log.h"
#include "compliance/checks/remark.h"
#include "compliance/review/run_record.h"

namespace strata::compliance {

// The evaluation schedule and the clock; and ids
// - review/log/several-on-a-line: events that are not read, since another follows on their line.
// - review/log/swallowed: an event whose value or metadata hold what looks like another.
std::vector<Remark> review_log(const EventLog& log, const RunRecord& record,
                               std::string_view ruleset);

// Adds that to a verdict; `strict`: as errors.
void review_verdict(const EventLog& log, bool strict, LogVerdict& verdict);

// Of the remarks of each log the first of every id, with the number of logs that have one.
std::vector<Remark> merge_remarks(std::vector<std::vector<Remark>> logs);

// A submission's name that is missing in its logs is one remark, not one of each folder.
class Placeholders {
 public:
  // Takes such remarks out of those of one result folder, which `folder` names.
  void take(std::vector<Remark>& remarks, const std::string& folder);
  // The remark, with the number of folders; empty where there was none.
  std::vector<Remark> remark() const;

 private:
  std::vector<Remark> first_;  // at most one
  std::string first_folder_, last_folder_;
  size_t folders_ = 0;
};

}  // namespace strata::compliance
