// The runs of a search that have ended, a line of JSON each, in a file that outlives it.
#pragma once

#include <filesystem>
#include <map>
#include <optional>

#include "search/trial.h"

namespace strata::search {

class TrialLog {
 public:
  // Reads what is there and leaves it as it is; a last line that a crash has cut is left out, until
  // add() takes its place. Throws Error, naming file and line, for anything else that is no run.
  explicit TrialLog(std::filesystem::path path);

  const std::map<TrialRun, FinishedRun>& runs() const { return runs_; }
  // Null where it has not ended.
  const FinishedRun* find(const TrialRun& run) const;
  // Appends a line and flushes it to disk. Of a run that is there already, the later line counts.
  void add(const FinishedRun& run);

 private:
  std::filesystem::path path_;
  std::optional<uintmax_t> cut_at_;  // where a line begins that is not whole
  std::map<TrialRun, FinishedRun> runs_;
};

}  // namespace strata::search
